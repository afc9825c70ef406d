import type { SuspendCause } from '../schema/built-in/thread-suspend.ts';
import type { ThreadCommit } from './thread-commit.ts';
import type { ThreadId } from './thread-id.ts';

/** Says which command lets a thread that is not over go on. */
export function hintToGoOn({ id, head }: { id: ThreadId; head: ThreadCommit }): string {
  return head.kind === 'suspend' ? hintToResume(id, head.node.cause) : `run 'uwf thread step ${id}'`;
}

/** Says which command lets a suspended thread go on: one that waits at a limit needs more of it, and no answer. */
export function hintToResume(id: ThreadId, cause: SuspendCause | undefined): string {
  if (cause === 'secret') {
    return `take them out and run 'uwf thread resume ${id}', or store the files as they are with --allow-secrets`;
  }
  if (cause === 'limit') return `'uwf thread resume ${id}' goes on, or says how much more it has to be allowed`;
  return `answer with 'uwf thread resume ${id} -p ${cause === 'permission' ? "yes' (or no)" : "<answer>'"}`;
}
