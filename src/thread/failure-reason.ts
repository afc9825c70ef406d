import type { ThreadSuspend } from '../schema/built-in/thread-suspend.ts';

/** Why a turn waits whose agent has failed: uwf's own words, by which {@link isFailure} knows it again. */
export function failureReason(role: string, tries: number, errors: readonly string[]): string {
  const times = tries === 1 ? '' : ` in ${tries} tries`;
  return `${role} failed${times}: ${errors.join('; ')}`;
}

/** Tells whether a turn that stopped by its agent has failed; otherwise the agent asks something. */
export function isFailure({ role, reason }: Pick<ThreadSuspend, 'role' | 'reason'>): boolean {
  return reason.startsWith(`${role} failed: `) || reason.startsWith(`${role} failed in `);
}
