import type { Usage } from './contract.ts';
import { formatCount, plural } from '../text/wording.ts';

/**
 * `at least 12,345 tokens in (9,000 from a cache, 800 to a cache), 678 out, 3 turns, $0.0123`: the usage of a turn or
 * thread; '' if it is not known, `tokens unknown` if the agent does not report them.
 */
export function formatUsage(usage: Usage | null): string {
  if (usage === null) return '';
  const { inputTokens, outputTokens, turns, costUsd, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage;
  const cached = [
    ...(cacheReadTokens > 0 ? [`${formatCount(cacheReadTokens)} from a cache`] : []),
    ...(cacheWriteTokens > 0 ? [`${formatCount(cacheWriteTokens)} to a cache`] : []),
  ];
  const given = `${formatCount(inputTokens)} tokens in${cached.length > 0 ? ` (${cached.join(', ')})` : ''}`;
  const isUntold = usage.isAtLeast && inputTokens + outputTokens === 0;
  const spent = isUntold
    ? ['tokens unknown']
    : [`${usage.isAtLeast ? 'at least ' : ''}${given}`, `${formatCount(outputTokens)} out`];
  if (turns > 0) spent.push(plural(turns, 'turn'));
  if (costUsd !== undefined) spent.push(`$${costUsd.toFixed(4)}`);
  return spent.join(', ');
}
