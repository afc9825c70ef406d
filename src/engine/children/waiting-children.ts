import { findCalledNow } from '../../thread/find-children.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Reading } from '../engine-context.ts';
import { findLease } from '../leases/find-lease.ts';
import { branchOf } from '../events.ts';

/** A child that waits for a person, and its key if it is the branch of a block. */
type WaitingChild = { thread: ThreadId; branch: string | undefined };

/** The children that a suspended thread waits for and that wait themselves, in the order in which they began. */
export async function findWaitingChildren({ repository }: Reading, state: ThreadState): Promise<WaitingChild[]> {
  if (state.head.kind !== 'suspend' || state.head.node.cause !== 'child') return [];
  const called = await findCalledNow(repository, state, state.id);
  const waiting: WaitingChild[] = [];
  for (const { pointer, start } of called.toSorted((a, b) => a.start.node.startedAtMs - b.start.node.startedAtMs)) {
    const { kind } = await readThreadCommit(repository, pointer.head);
    if (kind !== 'suspend' || findLease(repository, pointer.id) !== undefined) continue;
    waiting.push({ thread: pointer.id, branch: branchOf(start.node.call)?.key });
  }
  return waiting;
}

/** The one of them that began first. */
export async function findWaitingChild(engine: Reading, state: ThreadState): Promise<ThreadId | undefined> {
  return (await findWaitingChildren(engine, state))[0]?.thread;
}
