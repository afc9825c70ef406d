import type { Usage } from '../../agent/contract.ts';
import { formatCount } from './time.ts';

/** `12,345 tokens in, 678 out, 3 turns, $0.0123`: what something has cost; '' where nobody says. */
export function formatUsage(usage: Usage | null): string {
  if (usage === null) return '';
  const { inputTokens, outputTokens, turns, costUsd } = usage;
  const spent = [`${formatCount(inputTokens)} tokens in`, `${formatCount(outputTokens)} out`];
  if (turns > 0) spent.push(`${formatCount(turns)} ${turns === 1 ? 'turn' : 'turns'}`);
  if (costUsd !== undefined) spent.push(formatCost(costUsd));
  return spent.join(', ');
}

/** `$0.0123`. */
export function formatCost(costUsd: number): string {
  return `$${costUsd.toFixed(4)}`;
}
