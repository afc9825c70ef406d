import type { JsonObject } from '../../json.ts';
import { closedObject, count, isSet, mapOf } from './schema-parts.ts';

/**
 * What a turn cost. `inputTokens + outputTokens` is all that was used, whatever the agent: limits count it.
 */
export type Usage = {
  /** All tokens of the model's input, also those that were read from a cache or written to one. */
  inputTokens: number;
  /** All tokens of the model's output, its thoughts included. */
  outputTokens: number;
  /** How often the model was asked. */
  turns: number;
  /** In US dollars; absent where the agent does not say. */
  costUsd?: number;
  /** Those of `inputTokens` that were read from a cache; absent where the agent does not say. */
  cacheReadTokens?: number;
  /** Those of `inputTokens` that were written to a cache; absent where the agent does not say. */
  cacheWriteTokens?: number;
  /** Present where a part of the tokens or of the cost is not known: it was no less than this. */
  isAtLeast?: true;
};

export const costUsd: JsonObject = { type: 'number', minimum: 0 };

export const usage: JsonObject = closedObject(
  {
    inputTokens: count,
    outputTokens: count,
    turns: count,
    costUsd,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    isAtLeast: isSet,
  },
  ['costUsd', 'cacheReadTokens', 'cacheWriteTokens', 'isAtLeast'],
);

/** Usage, or null where the agent reports none. */
export const usageOrNull: JsonObject = { anyOf: [usage, { type: 'null' }] };

/** What the children of each role have used, with all that these called, where it is known. */
export type UsageByRole = Record<string, Usage>;

export const usageByRole: JsonObject = mapOf(usage);

/**
 * Adds up two usages. A count that only one of them has is the sum's as well; a cost that only one has is less than all of
 * it, where the other one has used tokens.
 */
export function addUsage(sum: Usage | null, more: Usage | null | undefined): Usage | null {
  if (!more) return sum;
  if (!sum) return more;
  const added: Usage = {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    turns: sum.turns + more.turns,
  };
  for (const name of ['costUsd', 'cacheReadTokens', 'cacheWriteTokens'] as const) {
    if (sum[name] !== undefined || more[name] !== undefined) added[name] = (sum[name] ?? 0) + (more[name] ?? 0);
  }
  const isUnpriced = (usage: Usage): boolean =>
    usage.costUsd === undefined && usage.inputTokens + usage.outputTokens > 0 && added.costUsd !== undefined;
  const isAtLeast = sum.isAtLeast ?? more.isAtLeast ?? (isUnpriced(sum) || isUnpriced(more));
  return { ...added, ...(isAtLeast && { isAtLeast }) };
}
