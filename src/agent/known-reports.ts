import { findKnown } from './acp/known-agents.ts';
import type { AgentBinding } from './load/agent-binding.ts';

/** Whether an agent reports the tokens that its turns use, and what they cost; absent where that is not known. */
export type KnownReports = { tokens?: boolean; cost?: boolean };

/** Agents that ask no model: programs, persons, and those that give their turn to other agents. */
const withoutModel: ReadonlySet<string> = new Set(
  ['command', 'human', 'scripted', 'workflow'].map((name) => `builtin:${name}`),
);

/**
 * Says what is known, before an agent runs, of the usage that it reports: by its price, by its package, and by the newest
 * version that uwf was tried with. `undefined` for an agent that asks no model.
 */
export function knownReports(
  { package: reference, config, price }: Pick<AgentBinding, 'package' | 'config' | 'price'>,
  capabilities: readonly string[] = [],
): KnownReports | undefined {
  if (withoutModel.has(reference) || capabilities.includes('no-model')) return undefined;
  const { silentOf = [] } = findKnown({ package: reference, config }) ?? {};
  const isCounting = capabilities.includes('usage');
  const isSilent = silentOf.includes('tokens');
  const isUnpriced = silentOf.includes('cost') || (isCounting && !capabilities.includes('cost'));
  return {
    ...((isCounting || isSilent) && { tokens: isCounting }),
    ...(price === undefined ? (isSilent || isUnpriced) && { cost: false } : !isSilent && { cost: true }),
  };
}
