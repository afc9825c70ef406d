import type { JsonObject } from '../../json.ts';

// Pieces of the built-in schemas. They are part of frozen hashes: an edited character renames every node.

/** The dialect of every schema uwf writes. */
export const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** A schema of an object with these properties and no others. */
export function closedObject(properties: JsonObject, optional: readonly string[] = []): JsonObject {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

/** A built-in schema: a closed object under the name of its type. */
export function builtInObject(
  title: string,
  description: string,
  properties: JsonObject,
  optional: readonly string[] = [],
): JsonObject {
  return { $schema: DIALECT, title, description, ...closedObject(properties, optional) };
}

/**
 * A link to a node. `cas_type` names the types the node may have: a built-in type's name, or a type's hash; without it any
 * type will do.
 */
export function ref(...types: readonly string[]): JsonObject {
  return { type: 'string', ...link(types) };
}

/** A link to a node, or null. */
export function refOrNull(...types: readonly string[]): JsonObject {
  return { type: ['string', 'null'], ...link(types) };
}

/** A list of links to nodes. */
export function refList(...types: readonly string[]): JsonObject {
  return { type: 'array', items: ref(...types) };
}

function link(types: readonly string[]): JsonObject {
  const [only, ...others] = types;
  if (only === undefined) return { format: 'cas_ref' };
  return { format: 'cas_ref', cas_type: others.length === 0 ? only : [...types] };
}

/** Any text. */
export const anyText: JsonObject = { type: 'string' };

/** A text that is not empty. */
export const word: JsonObject = { type: 'string', minLength: 1 };

/** A whole number from 1 on. */
export const positive: JsonObject = { type: 'integer', minimum: 1 };

/** A whole number from 0 on: a count, or a duration in ms. */
export const count: JsonObject = { type: 'integer', minimum: 0 };

/** A point in time, in ms since 1970-01-01T00:00:00Z. */
export const timeMs: JsonObject = { type: 'integer', minimum: 0 };

/** The last point in time of which a date can be made; {@link timeMs} is frozen without it. Source: ECMA-262, time values. */
export const LAST_TIME_MS = 8.64e15;

/** A place in the workflow's list of rules, counted from 0, or null. */
export const ruleOrNull: JsonObject = { type: ['integer', 'null'], minimum: 0 };

/** What redaction took out of a node's texts. */
export type Redacted = {
  /** How many values, at least 1. */
  count: number;
  /** The version of the table of rules. */
  table: string;
};

export const redacted: JsonObject = closedObject({ count: positive, table: word });

/** An object id of git, SHA-1 or SHA-256. */
export const objectId: JsonObject = { type: 'string', pattern: '^(?:[0-9a-f]{40}|[0-9a-f]{64})$' };

/** An object of any form. */
export const anyObject: JsonObject = { type: 'object' };

/** A flag that is either set or absent. */
export const isSet: JsonObject = { const: true };

/** How the turns of a role are kept apart from the main work tree. */
export const isolations = ['none', 'shared', 'worktree', 'strict'] as const;
export type Isolation = (typeof isolations)[number];
export const isolation: JsonObject = { enum: [...isolations] };

/** An object whose keys are names. */
export function mapOf(values: JsonObject): JsonObject {
  return { type: 'object', propertyNames: { minLength: 1 }, additionalProperties: values };
}
