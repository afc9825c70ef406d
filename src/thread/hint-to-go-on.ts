import type { ThreadCommitKind } from './thread-commit.ts';
import type { ThreadId } from './thread-id.ts';

/** Says which command lets a thread that is not over go on: a suspended one waits for an answer. */
export function hintToGoOn({ id, head }: { id: ThreadId; head: { kind: ThreadCommitKind } }): string {
  return head.kind === 'suspend' ? `answer with 'uwf thread resume ${id} -p <answer>'` : `run 'uwf thread step ${id}'`;
}
