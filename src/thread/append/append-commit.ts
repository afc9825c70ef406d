import { ObjectBatch, repositoryWith } from '../../git/stores/object-batch.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import type { RefEdit, RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { readThreadCommit } from '../thread-commit.ts';
import { moveThread } from '../lost-race/keep-as-fork.ts';
import { advanceState, type ThreadState } from '../read/thread-state.ts';
import { assertCommitFits } from './commit-limits.ts';
import { withNext } from './commit-message.ts';
import { draftCommit, type CommitDraft } from './draft-commit.ts';

/** How the refs move to a commit that is appended. */
export type AppendOptions = {
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
