import type { JsonObject, JsonValue } from '../json.ts';

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
