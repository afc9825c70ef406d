import { isJsonObject, type JsonObject, type JsonValue, mapValues } from '../json.ts';
import { orElse } from '../or-else.ts';

/** A JSON Schema that accepts values of type `T`. Only the compiler knows the type: the schema itself is plain JSON. */
export type SchemaOf<T> = JsonObject & { readonly [accepts]?: T };
declare const accepts: unique symbol;

export type ValueOf<Schema extends SchemaOf<unknown>> = Schema extends SchemaOf<infer T> ? T : never;

type Members = Readonly<Record<string, SchemaOf<unknown>>>;
type ValuesOf<M extends Members> = { -readonly [Name in keyof M]: ValueOf<M[Name]> };

export const NOT_EMPTY: JsonObject = { minLength: 1 };

/** Marks a property that is of use only where the agent has a price. */
export const NEEDS_PRICE: JsonObject = { 'x-uwf-needs-price': true };

/**
 * What messages say of a value that a schema describes, where its keywords do not say it well enough.
 *
 * In texts `{0}` is the last key of the value's path, `{1}` the one before it and so on, items counted from 1; `{of}` is the name of
 * what the value is part of.
 */
export type SchemaWords = {
  /** How messages name the value: `role '{0}'`. Without one it is `'key' of` what has a name. */
  name?: string;
  /** What it must be: `a list of rules`. */
  wanted?: string;
  /** Why the key has to be there, or what to write. */
  needed?: string;
  /** What to write in place of keys that are often tried, by these keys. */
  instead?: Readonly<Record<string, string>>;
  /** What to say where a keyword refuses the value, by the keyword; `{name}` is the value's name, `{value}` a text, `{shown}` any value as messages show it. `oneOf none` is for none of the choices. */
  faults?: Readonly<Record<string, FaultWords>>;
  /** It is itself a JSON Schema. */
  isSchema?: boolean;
};

/**
 * What a keyword says: the code of the fault, a sentence, what to try, and whether it is about the key. A value that `isReadable` is read
 * all the same, so that later checks can go on with it.
 */
type FaultWords = { code: string; says: string; hint?: string; at?: 'key'; isReadable?: true };

const WORDS = 'x-uwf-words';

export function worded<Schema extends JsonObject>(schema: Schema, words: SchemaWords): Schema {
  return { ...schema, [WORDS]: words };
}

export function wordsOf(schema: JsonObject | undefined): SchemaWords {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only `worded` sets this keyword.
  return (schema?.[WORDS] ?? {}) as SchemaWords;
}

/** A schema for others, such as an editor: without the words of messages. */
export function withoutWords(schema: JsonObject): JsonObject;
export function withoutWords(schema: JsonValue): JsonValue;
export function withoutWords(schema: JsonValue): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => withoutWords(item));
  if (!isJsonObject(schema)) return schema;
  const { [WORDS]: _, ...rest } = schema;
  return mapValues(rest, (part) => withoutWords(part));
}

export function textSchema(description?: string, more: JsonObject = {}): SchemaOf<string> {
  return { ...(description !== undefined && { description }), type: 'string', ...more };
}

export function flagSchema(description?: string): SchemaOf<boolean> {
  return { ...(description !== undefined && { description }), type: 'boolean' };
}

export function enumSchema<const T extends JsonValue>(values: readonly T[], description?: string): SchemaOf<T> {
  return { ...(description !== undefined && { description }), enum: [...values] };
}

/** A number, or a whole number, from `minimum` on. */
export function numberSchema(description: string, minimum: number, more: JsonObject = {}): SchemaOf<number> {
  return { description, type: 'number', minimum, ...more };
}

export function integerSchema(description: string, minimum: number, more: JsonObject = {}): SchemaOf<number> {
  return { description, type: 'integer', minimum, ...more };
}

export function listSchema<T>(items: SchemaOf<T>, description?: string, more: JsonObject = {}): SchemaOf<T[]> {
  return { ...(description !== undefined && { description }), type: 'array', ...more, items };
}

export function commandLineSchema(description: string): SchemaOf<[string, ...string[]]> {
  return { description, type: 'array', minItems: 1, items: textSchema() };
}

/** An object whose members, whatever their names, all have one form. */
export function recordSchema<T>(
  members: SchemaOf<T>,
  description?: string,
  more: JsonObject = {},
): SchemaOf<Record<string, T>> {
  return { ...(description !== undefined && { description }), type: 'object', ...more, additionalProperties: members };
}

export function objectSchema<Required extends Members, Optional extends Members>(
  required: Required,
  optional: Optional,
  more: JsonObject = {},
): SchemaOf<ValuesOf<Required> & Partial<ValuesOf<Optional>>> {
  const names = Object.keys(required);
  return {
    type: 'object',
    additionalProperties: false,
    ...(names.length > 0 && { required: names }),
    properties: { ...required, ...optional },
    ...more,
  };
}

/** Marks a property of a configuration that is stored with the thread. */
export function recorded<T>(schema: SchemaOf<T>): SchemaOf<T> {
  return { ...schema, 'x-uwf-record': true };
}

/**
 * Gives a value the type of the schema that accepted it; it does not validate again, because ajv takes longer to load than
 * most turns need.
 *
 * A configuration is validated by `load-agent.ts` before `createAgent` gets it, the input of a tool by `ToolBox`, a script by
 * `loadScript`, the file of a configuration by its parser.
 */
export function asValidated<T>(value: unknown, _schema: SchemaOf<T>): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The schema accepts values of this type only, and it has accepted this one.
  return value as T;
}

/** A path from the outermost schema. Items of lists are numbers. */
export type SchemaPath = readonly (string | number)[];

type SchemaPart<Schema = JsonValue> = { schema: Schema; path: SchemaPath };

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
