import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { GitObject, ObjectId } from '../../git/format/object-id.ts';
import type { RefEdit, RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { moveThread } from '../lost-race/keep-as-fork.ts';
import { advanceState, type ThreadState } from '../read/thread-state.ts';
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
};

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
  { ref, expected, others = [], keep, objects = [] }: AppendOptions,
): Promise<ThreadState> {
  const batch = new ObjectBatch(repository.objects.format);
  for (const object of objects) batch.add(object);
  const tip = draftCommit(repository, batch, { ...draft, before: state.head });
  const edits = [{ name: ref, expected, value: tip }, ...others];
  const commit = await moveThread(repository, state.id, batch, tip, edits, { keep });
  return advanceState(repository, state, commit);
}
