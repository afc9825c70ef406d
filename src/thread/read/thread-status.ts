import type { ThreadEvent } from '../thread-commit.ts';

/**
 * The status of a thread, from its head and from whether a process holds its lease.
 *
 * - `idle`: its next step can run now
 * - `interrupted`: as `idle`, but the process that ran it died, and may have left its agent at work
 * - `running`: a process works on it
 * - `suspended`: it waits for a person
 * - `ended`, `failed`, `cancelled`: it is over
 * - `newer`: a newer version of uwf wrote it
 * - `corrupt`: its head cannot be read
 */
export type ThreadStatus = (typeof threadStatuses)[number];

/** Every status, in the order in which a thread may have them. */
export const threadStatuses = [
  'idle',
  'interrupted',
  'running',
  'suspended',
  'ended',
  'failed',
  'cancelled',
  'newer',
  'corrupt',
] as const;

/** The status that a head commit gives a thread, whether or not a process works on it. */
export function statusOfHead(head: ThreadEvent): ThreadStatus {
  if (head.kind === 'end') return head.node.outcome === 'completed' ? 'ended' : head.node.outcome;
  return head.kind === 'suspend' ? 'suspended' : 'idle';
}

/** Tells whether a thread with this status will never run again. */
export function isOver(status: ThreadStatus): boolean {
  return status === 'ended' || status === 'failed' || status === 'cancelled';
}
