import type { JsonObject } from '../../json.ts';
import { isolations } from '../../schema/built-in/schema-parts.ts';

// Pieces of the schema of workflow files.

/** Wider than a workflow's: role names go into paths percent-encoded, and United Workforce lets them be camel case. */
export const roleName: RegExp = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** A label in the `needs` of a role. */
export const label: RegExp = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const MAX_NEEDS = 32;

/** Tells whether labels are valid, in order, and each there once. */
export function areNeeds(labels: readonly string[]): boolean {
  const isNext = (text: string, at: number): boolean => at === 0 || (labels[at - 1] ?? '') < text;
  return labels.length <= MAX_NEEDS && labels.every((text, at) => label.test(text) && isNext(text, at));
}

/** An integer within bounds. */
export type Bounds = { minimum: number; maximum: number };

export const text = (description: string): JsonObject => ({ description, type: ['string', 'null'] });
export const needed = (description: string): JsonObject => ({ description, type: 'string' });

/** A map with these keys, and `x-…`, which are free for anything. */
export function fields(properties: JsonObject, required: readonly string[] = []): JsonObject {
  return { properties, patternProperties: { '^x-': true }, additionalProperties: false, required: [...required] };
}

/** One of these keys is there and no other, if the value is a map at all. */
export function oneKeyOf(...keys: readonly string[]): JsonObject {
  const choices = keys.map((key) => ({
    type: 'object',
    required: [key],
    properties: { [key]: { not: { type: 'null' } } },
  }));
  return { oneOf: [...choices, { not: { type: 'object' } }] };
}

/** A value of these types, or an `!include`: to an editor that is a text, the file's name. */
export function orFile(...types: readonly string[]): JsonObject {
  const patternErrorMessage = 'a text stands here only as the file of an !include: reply.yaml';
  return { type: [...types, 'string'], pattern: String.raw`\.(?:ya?ml|json)$`, patternErrorMessage };
}

export const isolationField = (whose: string): JsonObject => ({
  description: `whether ${whose} in a work tree of the thread's own: 'worktree', 'strict' (and nothing else may change meanwhile), 'none', or 'shared' (several may work in one work tree)`,
  enum: [...isolations, null],
});
