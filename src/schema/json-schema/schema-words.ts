import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import { subschemas } from './walk-schema.ts';

const found = new WeakMap<JsonObject, ReadonlySet<string>>();

/** The texts that a schema itself names: its properties, and the values of `enum` and `const`. */
export function schemaWords(schema: JsonValue): ReadonlySet<string> {
  if (!isJsonObject(schema)) return new Set();
  let words = found.get(schema);
  if (words === undefined) found.set(schema, (words = new Set(wordsIn(schema))));
  return words;
}

function* wordsIn(schema: JsonObject): Generator<string> {
  for (const { schema: part } of subschemas(schema)) {
    if (isJsonObject(part['properties'])) yield* Object.keys(part['properties']);
    for (const keyword of ['required', 'enum', 'const']) yield* textsIn(part[keyword]);
  }
}

function* textsIn(value: JsonValue | undefined): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (Array.isArray(value)) for (const item of value) yield* textsIn(item);
  else if (isJsonObject(value)) {
    yield* Object.keys(value);
    yield* textsIn(Object.values(value));
  }
}
