import type { ObjectId } from '../../git/format/object-id.ts';
import { findCalledNow } from '../../thread/find-children.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { EngineContext } from '../engine-context.ts';

/** The thread of a branch that has begun. */
export type BranchThread = {
  key: string;
  thread: ThreadId;
  head: ObjectId;
  /** In ms since 1970; absent while it has not ended. */
  endedAtMs: number | undefined;
  /** Whether it waits for a person. */
  isWaiting: boolean;
};

/** Finds the branches of a block that have begun since the caller's last step: those that have ended first, by the time of their ends. */
export async function findBranches(
  { repository }: EngineContext,
  state: ThreadState,
  block: string,
): Promise<BranchThread[]> {
  const found: BranchThread[] = [];
  for (const { pointer, start } of await findCalledNow(repository, state, state.id)) {
    const { call, parentRole } = start.node;
    if (call?.block !== block || parentRole !== block) continue;
    const head = await readThreadCommit(repository, pointer.head);
    const endedAtMs = head.kind === 'end' ? head.node.completedAtMs : undefined;
    const isWaiting = head.kind === 'suspend';
    found.push({ key: call.key, thread: pointer.id, head: pointer.head, endedAtMs, isWaiting });
  }
  return found.toSorted((a, b) => (a.endedAtMs ?? Number.MAX_VALUE) - (b.endedAtMs ?? Number.MAX_VALUE));
}
