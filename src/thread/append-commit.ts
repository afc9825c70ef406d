import type { GitObject, ObjectId } from '../git/format/object-id.ts';
import { type RefEdit, RefMoved, type RefName } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { ObjectBatch, publish, repositoryWith } from '../git/stores/publish.ts';
import { readCommit } from '../git/stores/read.ts';
import { inPlaceOf } from '../or-else.ts';
import { withNext } from './commit-message.ts';
import { assertCommitFits, type CommitDraft, draftCommit } from './draft-commit.ts';
import { forkIdFor } from './new-thread-id.ts';
import { readThreadCommit, type ThreadCommit } from './thread-commit.ts';
import { ThreadMoved } from './thread-errors.ts';
import { activeRef, type ThreadId } from './thread-id.ts';
import { advanceState, type ThreadState } from './thread-state.ts';

/** How the refs move to a commit that is appended. */
type AppendOptions = {
  /** The ref that moves to the commit, and the value it is expected to have; null: it must not exist. */
  ref: RefName;
  expected: ObjectId | null;
  /** The other edits of the transaction. One edit is that of the thread's active ref. */
  others?: readonly RefEdit[];
  /** Whether a fork keeps the commit if another writer is first. */
  keep: boolean;
  /** Objects that the commit needs beside its nodes. */
  objects?: readonly GitObject[];
  next?: WhoIsNext | undefined;
};

/**
 * Works out who is next once a step is stored, a role or `__end__`; `undefined` where that cannot be said.
 * @param imagined the repository with the step
 */
export type WhoIsNext = (imagined: Repository, after: ThreadState) => Promise<string | undefined>;

/**
 * Writes the next commit of a thread and moves the thread's ref to it.
 *
 * @returns the thread with the commit
 * @throws as {@link moveThread}
 */
export async function appendCommit(
  repository: Repository,
  state: ThreadState,
  draft: Omit<CommitDraft, 'types' | 'before'>,
  { ref, expected, others = [], keep, objects = [], next }: AppendOptions,
): Promise<ThreadState> {
  const batch = new ObjectBatch(repository.objects.format);
  for (const object of objects) batch.add(object);
  let commit = draftCommit(repository, batch, { ...draft, before: state.head });
  if (next !== undefined) {
    const imagined = new ObjectBatch(repository.objects.format);
    const id = imagined.addCommit(commit);
    const seen = repositoryWith(repositoryWith(repository, batch), imagined);
    const after = await advanceState(seen, state, await readThreadCommit(seen, id));
    commit = { ...commit, message: withNext(commit.message, await next(seen, after)) };
    assertCommitFits(commit);
  }
  const tip = batch.addCommit(commit);
  const edits = [{ name: ref, expected, value: tip }, ...others];
  const moved = await moveThread(repository, state.id, batch, tip, edits, { keep });
  return advanceState(repository, state, moved);
}

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
