import { keysOf, type JsonObject } from '../../json.ts';
import { faultOfValue } from '../json-schema/fault-of-value.ts';
import { closedObject, positive } from './schema-parts.ts';

/**
 * Stops for a role, a workflow or a thread; an absent one does not limit.
 *
 * A role's count its own steps, the others' the thread's. Where several name the same limit each holds.
 */
export type Limits = {
  /** Steps of the thread, all roles together. */
  maxSteps?: number;
  /** Steps of one role. */
  maxVisits?: number;
  /** Wall time of one turn, in ms. */
  timeoutMs?: number;
  /** Time without a sign of life from the agent, in ms. */
  idleTimeoutMs?: number;
  /** How often models are asked. */
  maxTurns?: number;
  /** Tokens in and out. */
  maxTokens?: number;
  /** In US dollars, as far as agents say what they cost. */
  maxCostUsd?: number;
  /** Nesting of child threads; 0 allows none. */
  maxDepth?: number;
};

/** What comes of an agent that does not report what a limit counts: a warning, or a suspension before its next turn. */
export type UnknownUsage = 'warn' | 'refuse';

/** Limits of a workflow or of a configuration. */
export type ThreadLimits = Limits & { unknownUsage?: UnknownUsage };

/** The schema of each limit. */
export const limitBounds: Record<keyof Limits, JsonObject> = {
  maxSteps: positive,
  maxVisits: positive,
  timeoutMs: positive,
  idleTimeoutMs: positive,
  maxTurns: positive,
  maxTokens: positive,
  maxCostUsd: { type: 'number', exclusiveMinimum: 0 },
  maxDepth: { type: 'integer', minimum: 0 },
};

/** The names of all limits. */
export const limitNames: readonly (keyof Limits)[] = keysOf(limitBounds);

/** The limits that count over a thread's life. */
export type CountedLimit = 'maxSteps' | 'maxVisits' | 'maxTurns' | 'maxTokens' | 'maxCostUsd';

/** What is added to limits that count over a thread's life. */
export type MoreLimits = Pick<Limits, CountedLimit>;

/** The names of the limits that count over a thread's life. */
export const countedLimits: readonly CountedLimit[] = ['maxSteps', 'maxVisits', 'maxTurns', 'maxTokens', 'maxCostUsd'];

export const moreLimits: JsonObject = closedObject(
  Object.fromEntries(countedLimits.map((name) => [name, limitBounds[name]])),
  countedLimits,
);

export const limitsSchema: JsonObject = closedObject(limitBounds, limitNames);

export const unknownUsages: readonly UnknownUsage[] = ['warn', 'refuse'];

/** The schema of {@link ThreadLimits}. */
export const threadLimitsSchema: JsonObject = closedObject(
  { ...limitBounds, unknownUsage: { enum: [...unknownUsages] } },
  [...limitNames, 'unknownUsage'],
);

/** Says what is wrong with the value of a limit, after its name; `undefined` if nothing is. */
export function faultOfLimit(name: keyof Limits, value: unknown): string | undefined {
  return faultOfValue(limitBounds[name], value);
}
