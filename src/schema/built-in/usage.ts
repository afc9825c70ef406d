import type { JsonObject, JsonValue } from '../../json.ts';
import { closedObject, count, hasAny } from './schema-parts.ts';

/** What a turn cost. */
export type Usage = {
  inputTokens: number;
  outputTokens: number;
  /** How often the model was asked. */
  turns: number;
  /** In US dollars; absent where the agent does not say. */
  costUsd?: number;
  /** Tokens that were read from a cache; absent where the agent does not say. */
  cacheReadTokens?: number;
  /** Tokens that were written to a cache; absent where the agent does not say. */
  cacheWriteTokens?: number;
  /** Present where the agent leaves a part of the cost untold. */
  isAtLeast?: true;
};

export const costUsd: JsonObject = { type: 'number', minimum: 0 };

const properties: JsonObject = { inputTokens: count, outputTokens: count, turns: count, costUsd };

const newProperties: JsonObject = { cacheReadTokens: count, cacheWriteTokens: count, isAtLeast: { const: true } };

/** Usage, or null where the agent reports none. */
export const usageOrNull: JsonObject = { anyOf: [closedObject(properties, ['costUsd']), { type: 'null' }] };

/** As {@link usageOrNull}, with the fields that successors know. */
export const fullUsageOrNull: JsonObject = {
  anyOf: [
    closedObject({ ...properties, ...newProperties }, ['costUsd', ...Object.keys(newProperties)]),
    { type: 'null' },
  ],
};

/** Tells whether a usage sets a field that only successors know. */
export function isFullUsage(usage: JsonValue | undefined): boolean {
  return hasAny(usage, Object.keys(newProperties));
}
