import type { Usage } from './usage.ts';

/**
 * Adds up two usages. A count that only one of them has is the sum's as well; a cost that only one has is less than all of
 * it, where the other one has used tokens.
 */
export function addUsage(sum: Usage | null, more: Usage | null | undefined): Usage | null {
  if (!more) return sum;
  if (!sum) return more;
  const added = {
    inputTokens: sum.inputTokens + more.inputTokens,
    outputTokens: sum.outputTokens + more.outputTokens,
    turns: sum.turns + more.turns,
    ...either('costUsd', sum, more),
    ...either('cacheReadTokens', sum, more),
    ...either('cacheWriteTokens', sum, more),
  };
  const isUnpriced = (usage: Usage): boolean =>
    usage.costUsd === undefined && usage.inputTokens + usage.outputTokens > 0 && added.costUsd !== undefined;
  const isAtLeast = sum.isAtLeast ?? more.isAtLeast ?? (isUnpriced(sum) || isUnpriced(more));
  return { ...added, ...(isAtLeast && { isAtLeast }) };
}

type Optional = 'costUsd' | 'cacheReadTokens' | 'cacheWriteTokens';

function either<Name extends Optional>(name: Name, a: Usage, b: Usage): { [Key in Name]?: number } {
  const sum = { [name]: (a[name] ?? 0) + (b[name] ?? 0) };
  // The one key is the name.
  return (a[name] === undefined && b[name] === undefined ? {} : sum) as { [Key in Name]?: number };
}
