import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import { repositoryWith, type ObjectBatch } from '../../git/stores/object-batch.ts';
import { publish } from '../../git/stores/publish.ts';
import { RefMoved, type RefEdit } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { ThreadMoved } from '../thread-errors.ts';
import { forkIdFor } from '../new-thread-id.ts';
import type { ThreadId } from '../thread-id.ts';
import { readThreadCommit, type ThreadCommit } from '../thread-commit.ts';
import { activeRef } from '../thread-refs.ts';
import { inPlaceOf } from '../../or-else.ts';

/**
 * Publishes a batch and moves a thread's ref from its head to a new tip. If another writer moves the ref first, keeps the
 * new commit as a fork: an agent's turn costs money.
 *
 * @param edits the whole transaction; one of them is the thread's own
 * @param options.keep false if the commit cost nothing, so that no fork keeps it
 * @returns the commit, as a reader gets it
 * @throws {ThreadMoved} if another writer was first
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
  await publish(repository, batch, edits, async ({ ref, actual }) => {
    if (ref !== activeRef(thread)) return;
    const fork = keep ? await keepAsFork(repository, thread, tip) : undefined;
    throw new ThreadMoved(thread, fork, actual ?? undefined);
  });
  return readThreadCommit(repositoryWith(repository, batch), tip);
}

/** Gives a commit that lost the race for its thread a ref of its own. The fork's id follows from both, so keeping it twice keeps it once. */
export async function keepAsFork(repository: Repository, thread: ThreadId, tip: ObjectId): Promise<ThreadId> {
  const commit = await readCommit(repository.objects, tip);
  const fork = forkIdFor(thread, tip, commit.committer.atMs);
  const name = activeRef(fork);
  if ((await repository.refs.read(name)) !== undefined) return fork;
  // If the ref exists, another process has kept the same commit. The fork may have advanced since.
  await repository.refs.update([{ name, expected: null, value: tip }]).catch(inPlaceOf(RefMoved, undefined));
  return fork;
}
