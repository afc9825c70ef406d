import { isJsonObject, type JsonObject, type JsonValue } from '../json.ts';
import { orElse } from '../or-else.ts';

/** A path from the outermost schema. Items of lists are numbers. */
export type SchemaPath = readonly (string | number)[];

/** A schema inside another one. */
type SchemaPart<Schema = JsonValue> = { schema: Schema; path: SchemaPath };

/** A keyword of a schema, and the schemas that it holds or refers to. */
type KeywordParts = { keyword: string; parts: readonly SchemaPart[] };

/** The value of a keyword: one schema, a list of schemas, or a map of schemas. */
type Form = 'schema' | 'list' | 'map';

/** Keywords that refer to another schema, which applies to the same value. */
export const references: readonly string[] = ['$ref', '$dynamicRef', '$recursiveRef'];

/** Keywords whose schemas apply to the same value. Source: JSON Schema 2020-12, core §10.2. */
const onSameValue: ReadonlyMap<string, Form> = new Map([
  ...keywords('list', 'allOf oneOf anyOf'),
  ...keywords('schema', 'if then else not'),
  ...keywords('map', 'dependentSchemas dependencies'),
]);

/** Keywords whose schemas apply to items or members of the value, or only where a reference names them. */
const onOtherValues: ReadonlyMap<string, Form> = new Map([
  ...keywords('list', 'prefixItems'),
  ...keywords('schema', 'items contains additionalProperties unevaluatedItems unevaluatedProperties propertyNames'),
  ...keywords('schema', 'contentSchema'),
  ...keywords('map', 'properties patternProperties $defs definitions'),
]);

const allForms: ReadonlyMap<string, Form> = new Map([...onSameValue, ...onOtherValues]);

function keywords(form: Form, names: string): [string, Form][] {
  return names.split(' ').map((name) => [name, form]);
}

/** The keywords whose value has a form. */
export function keywordsOfForm(form: Form): string[] {
  return [...allForms].flatMap(([keyword, its]) => (its === form ? [keyword] : []));
}

/**
 * Visits a schema and all schemas in it, each once, the outermost first; boolean schemas are left out.
 *
 * Only the places where JSON Schema 2020-12 has schemas are entered: what stands in `const`, `enum`, `default` or
 * `examples` is data. References are not followed.
 */
export function* subschemas(root: JsonValue): Generator<SchemaPart<JsonObject>> {
  const pending: SchemaPart[] = [{ schema: root, path: [] }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { schema, path } = next;
    if (!isJsonObject(schema)) continue;
    yield { schema, path };
    const parts = [...allForms].flatMap(([keyword, form]) => partsUnder(schema, keyword, form, path));
    pending.push(...parts.toReversed());
  }
}

/**
 * Lists the schemas that a schema applies to the same value, by keyword: references first, resolved, then the others.
 *
 * A reference that cannot be resolved has no parts. Which of the parts hold for a value depends on the keyword.
 * @param root the schema in which references are resolved
 */
export function applicators(root: JsonValue, schema: JsonObject, path: SchemaPath = []): readonly KeywordParts[] {
  // Most schemas apply no other, and have fewer keywords than there are in `applying`.
  return Object.keys(schema).some((keyword) => applying.has(keyword)) ? listApplicators(root, schema, path) : [];
}

const applying: ReadonlySet<string> = new Set([...references, ...onSameValue.keys()]);

function listApplicators(root: JsonValue, schema: JsonObject, path: SchemaPath): KeywordParts[] {
  const found: KeywordParts[] = [];
  for (const keyword of references) {
    const reference = schema[keyword];
    if (typeof reference === 'string') found.push({ keyword, parts: [resolveLocalRef(root, reference) ?? []].flat() });
  }
  for (const [keyword, form] of onSameValue) {
    const parts = partsUnder(schema, keyword, form, path);
    if (parts.length > 0) found.push({ keyword, parts });
  }
  return found;
}

function partsUnder(schema: JsonObject, keyword: string, form: Form, path: SchemaPath): SchemaPart[] {
  const value = schema[keyword];
  if (value === undefined) return [];
  if (form === 'schema') return [{ schema: value, path: [...path, keyword] }];
  if (Array.isArray(value) !== (form === 'list') || typeof value !== 'object' || value === null) return [];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return entries.map(([key, part]) => ({ schema: part, path: [...path, keyword, key] }));
}

/**
 * Resolves a reference within a schema: `#`, a JSON pointer (`#/$defs/x`) or an anchor (`#name`).
 *
 * `undefined` for a reference to elsewhere, and for one that names nothing.
 * Source: RFC 6901 §6, JSON Schema 2020-12 core §8.2.
 */
export function resolveLocalRef(root: JsonValue, reference: string): SchemaPart | undefined {
  if (!reference.startsWith('#')) return undefined;
  const fragment = orElse(() => decodeURIComponent(reference.slice(1)), undefined);
  if (fragment === undefined) return undefined;
  if (fragment === '' || fragment.startsWith('/')) return atPointer(root, fragment);
  for (const part of subschemas(root)) {
    if (part.schema['$anchor'] === fragment || part.schema['$dynamicAnchor'] === fragment) return part;
  }
  return undefined;
}

/** What a JSON pointer names in a value; `undefined` if it names nothing. Source: RFC 6901. */
export function atPointer(root: JsonValue, pointer: string): SchemaPart | undefined {
  let schema: JsonValue | undefined = root;
  const path: (string | number)[] = [];
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const index = Number(name);
    const key = Array.isArray(schema) && String(index) === name ? index : name;
    schema = memberAt(schema, key);
    if (schema === undefined) return undefined;
    path.push(key);
  }
  return { schema, path };
}

function memberAt(value: JsonValue, key: string | number): JsonValue | undefined {
  if (Array.isArray(value)) return typeof key === 'number' ? value[key] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

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
