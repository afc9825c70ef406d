import { addUsage } from '../schema/built-in/add-usage.ts';
import type { Usage } from '../schema/built-in/usage.ts';
import type { PaidTurn } from '../thread/thread-outline.ts';

/** What a thread has cost, and each of its roles; turns that ended in a suspension are paid for, too. */
export type ThreadUsage = {
  /** null where no agent has told any. */
  usage: Usage | null;
  /** Roles whose agents told none are not there. */
  usageByRole: Record<string, Usage>;
};

/** Sums up what the turns of a thread have cost; child threads have sums of their own. */
export function usageOf(turns: readonly PaidTurn[]): ThreadUsage {
  const byRole = new Map<string, Usage>();
  let usage: Usage | null = null;
  for (const turn of turns) {
    usage = addUsage(usage, turn.usage);
    const sum = addUsage(byRole.get(turn.role) ?? null, turn.usage);
    if (sum) byRole.set(turn.role, sum);
  }
  return { usage, usageByRole: Object.fromEntries(byRole) };
}
