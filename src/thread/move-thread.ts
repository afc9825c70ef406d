import type { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit } from '../git/read.ts';
import { readThrough } from '../git/read-through.ts';
import { RefMoved, type RefEdit } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { ThreadMoved } from './thread-errors.ts';
import { forkIdFor } from './new-thread-id.ts';
import type { ThreadId } from './thread-id.ts';
import { readThreadCommit, type ThreadCommit } from './thread-commit.ts';
import { activeRef } from './thread-refs.ts';

/**
 * Writes a batch and moves a thread's ref from its head to a new tip, with other edits in the same transaction.
 *
 * @returns the commit, as its readers will find it
 * @param edits the whole transaction; one of them is the thread's own
 * @throws {ThreadMoved} if another writer was first. What was written is then kept as a fork, before the objects lose
 *   their protection, because an agent's turn costs money; `keep: false` (nothing was paid for it) keeps nothing
 * @throws {RefMoved} if another ref of the transaction moved; nothing is changed then
 */
export async function moveThread(
  repository: Repository,
  thread: ThreadId,
  batch: ObjectBatch,
  tip: ObjectId,
  edits: readonly RefEdit[],
  { keep }: { keep: boolean },
): Promise<ThreadCommit> {
  const written = await repository.objects.write(batch.objects);
  try {
    await repository.refs.update(edits);
  } catch (error) {
    if (!(error instanceof RefMoved) || error.ref !== activeRef(thread)) throw error;
    const fork = keep ? await keepAsFork(repository, thread, tip) : undefined;
    throw new ThreadMoved(thread, fork, error.actual ?? undefined);
  } finally {
    await written.release();
  }
  return readThreadCommit({ objects: readThrough(batch, repository.objects) }, tip);
}

/**
 * Gives a commit that lost its thread a ref of its own, under the id derived from both; keeping it twice is once.
 */
export async function keepAsFork(repository: Repository, thread: ThreadId, tip: ObjectId): Promise<ThreadId> {
  const commit = await readCommit(repository.objects, tip);
  const fork = forkIdFor(thread, tip, commit.committer.atMs);
  const name = activeRef(fork);
  if ((await repository.refs.read(name)) !== undefined) return fork;
  try {
    await repository.refs.update([{ name, expected: null, value: tip }]);
  } catch (error) {
    // Of two that keep the same commit at once one is enough, and the fork may have gone on since.
    if (!(error instanceof RefMoved)) throw error;
  }
  return fork;
}
