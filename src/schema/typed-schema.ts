import { isJsonObject, type JsonObject, type JsonValue, mapValues } from '../json.ts';

/** A JSON Schema that accepts values of type `T`. Only the compiler knows the type: the schema itself is plain JSON. */
export type SchemaOf<T> = JsonObject & { readonly [accepts]?: T };
declare const accepts: unique symbol;

/** The values that a schema accepts. */
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

/** Adds what messages say. */
export function worded<Schema extends JsonObject>(schema: Schema, words: SchemaWords): Schema {
  return { ...schema, [WORDS]: words };
}

/** What messages say of the value of a schema. */
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

/** One of some values. */
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

/** A program and its arguments. */
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

/** An object with these members and no others. */
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
