import { isOfOutside } from '../git/worktree/file-notes.ts';
import type { ThreadSuspend } from '../schema/built-in/thread-start.ts';
import type { ThreadCommit, ThreadEvent } from './thread-commit.ts';
import type { ThreadId } from './thread-id.ts';

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

/** The reason of a turn whose agent failed. {@link isFailure} recognises it. */
export function failureReason(role: string, tries: number, errors: readonly string[]): string {
  const times = tries === 1 ? '' : ` in ${tries} tries`;
  return `${role} failed${times}: ${errors.join('; ')}`;
}

/** Tells whether the agent of a suspended turn failed; otherwise it asks something. */
function isFailure({ role, reason }: Pick<ThreadSuspend, 'role' | 'reason'>): boolean {
  return reason.startsWith(`${role} failed: `) || reason.startsWith(`${role} failed in `);
}

/** Returns the command that continues a thread, for a hint. */
export function hintToGoOn({ id, head }: { id: ThreadId; head: ThreadCommit }): string {
  return head.kind === 'suspend' ? hintToResume(id, head.node) : `run 'uwf thread step ${id}'`;
}

/** The fields of a suspension that decide the hint; `due`: when the turn can be taken again. */
export type WhyItWaits = Pick<ThreadSuspend, 'cause' | 'reason' | 'role'> & { due?: number | string };

/** Tells whether a suspended turn asks for an answer. Others can continue when the cause of the suspension is removed. */
export function asksForWords(why: WhyItWaits): boolean {
  if (why.cause === 'agent') return why.due === undefined && !isFailure(why);
  return why.cause === 'human';
}

/** Returns the command that continues a suspended thread: with an answer only if one was asked for. */
export function hintToResume(id: ThreadId, why: WhyItWaits): string {
  const resume = `uwf thread resume ${id}`;
  if (asksForWords(why)) return `answer with '${resume} -p <answer>'`;
  switch (why.cause) {
    case 'secret':
      return `take them out and run '${resume}', or store the files as they are with --allow-secrets`;
    case 'limit':
      return `'${resume}' goes on, or says how much more it has to be allowed`;
    case 'permission':
      return `answer with '${resume} -p yes' (or no)`;
    case 'isolation': {
      // Without this a resume fails in the same way.
      const first = isOfOutside(why.role, why.reason) ? 'look at what changed;' : 'once that is put right,';
      return `${first} '${resume}' stores the turn, '${resume} -p <what to do>' takes it again`;
    }
    case 'child':
      return `'uwf thread show ${id}' names the child thread that it waits for; '${resume}' goes on with that`;
    case 'rule':
      return `'${resume}' decides again`;
    case 'human':
    case 'agent':
    case 'invalid-reply':
    case 'timeout':
    case 'interrupted':
    case 'usage-limit':
    case 'time-box':
      break;
  }
  const when = why.due === undefined ? 'once what stopped it is put right' : 'when that time has come';
  return `'${resume}' takes the turn again, ${when}`;
}
