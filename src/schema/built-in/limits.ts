import type { JsonObject } from '../../json.ts';
import { closedObject } from './schema-parts.ts';

/** Stops for a role, a workflow or a thread; an absent one does not limit. */
export type Limits = {
  /** Steps of the thread, all roles together. */
  maxSteps?: number;
  /** Steps of one role. */
  maxVisits?: number;
  /** Wall time of one turn, in ms. */
  timeoutMs?: number;
  /** Time without a sign of life from the agent, in ms. */
  idleTimeoutMs?: number;
  /** Nesting of child threads; 0 allows none. */
  maxDepth?: number;
};

const positive: JsonObject = { type: 'integer', minimum: 1 };

export const limitsSchema: JsonObject = closedObject(
  {
    maxSteps: positive,
    maxVisits: positive,
    timeoutMs: positive,
    idleTimeoutMs: positive,
    maxDepth: { type: 'integer', minimum: 0 },
  },
  ['maxSteps', 'maxVisits', 'timeoutMs', 'idleTimeoutMs', 'maxDepth'],
);
