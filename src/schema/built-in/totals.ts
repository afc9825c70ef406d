import type { ObjectId } from '../../git/format/object-id.ts';
import type { JsonObject } from '../../json.ts';
import { objectId, closedObject, count, mapOf } from './schema-parts.ts';
import { moreLimits, type MoreLimits } from './limits.ts';
import { usageOrNull, type Usage } from './usage.ts';

/** A commit of a thread, and the number of the newest step up to it. */
export type StepPlace = { commit: ObjectId; number: number };

/** What the turns of one role come to. */
export type RoleTotals = {
  /** How many steps it took. */
  visits: number;
  /** The number of its first step; null if it took none. */
  first: number | null;
  /** The number of its newest step; null if it took none. */
  last: number | null;
  /** The usage of its steps and of its turns that ended in a suspension. */
  usage: Usage | null;
  /** The usage of its steps that were replaced by others. */
  replaced: Usage | null;
  /** The usage of the children of its turns, with all that these called. */
  children: Usage | null;
  /** Its suspensions since its last step. */
  waits: number;
};

/**
 * What the commits of a thread up to one of them come to. The node of each commit has that of the commits before it, so that the
 * head tells how a thread stands. Its size depends on how many roles there are, and not on how many steps.
 */
export type Totals = {
  /** The commit of the start. */
  start: ObjectId;
  steps: number;
  /** The usage of all steps and suspended turns, added up in their order. */
  usage: Usage | null;
  /** The usage of all steps that were replaced by others. */
  replaced: Usage | null;
  /** The usage of all children that its steps took in or left, with all that these called. */
  children: Usage | null;
  roles: Record<string, RoleTotals>;
  /** How much people have added to the limits. */
  more: MoreLimits;
  /** The newest step that recorded its files. */
  recorded: ObjectId | null;
  /** The newest step that carries a summary of those before it. */
  compacted: StepPlace | null;
  /** The newest step that took in or left child threads, or took the place of such a step; its own totals name the one before it. */
  calling: ObjectId | null;
  /** The newest resumption after an end; its own totals name the one before it. */
  reopened: StepPlace | null;
  /** The newest steps whose numbers are multiples of 4, 16, 64 and so on, as far as there are any: ways to a step by its number. */
  skips: ObjectId[];
};

/** The distances of the steps that `skips` names. */
export const SKIPS = [4, 16, 64, 256, 1024, 4096, 16_384] as const;

const idOrNull: JsonObject = { ...objectId, type: ['string', 'null'] };
const place: JsonObject = { anyOf: [closedObject({ commit: objectId, number: count }), { type: 'null' }] };
const numberOrNull: JsonObject = { type: ['integer', 'null'], minimum: 1 };

export const totalsSchema: JsonObject = closedObject({
  start: objectId,
  steps: count,
  usage: usageOrNull,
  replaced: usageOrNull,
  children: usageOrNull,
  roles: mapOf(
    closedObject({
      visits: count,
      first: numberOrNull,
      last: numberOrNull,
      usage: usageOrNull,
      replaced: usageOrNull,
      children: usageOrNull,
      waits: count,
    }),
  ),
  more: moreLimits,
  recorded: idOrNull,
  compacted: place,
  calling: idOrNull,
  reopened: place,
  skips: { type: 'array', maxItems: SKIPS.length, items: objectId },
});
