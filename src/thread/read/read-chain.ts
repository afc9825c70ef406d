import { setImmediate as letOthersWork } from 'node:timers/promises';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readThreadCommit, type ThreadCommit } from '../thread-commit.ts';

/** Objects are read from a disk at once: without pauses, a long walk would leave all other requests of a server unanswered. */
const PAUSE_EVERY = 100;

/**
 * Walks a thread from a commit back to its start along first parents, newest first.
 *
 * It ends at the start, even if that has a parent (the caller's commit, for a child thread). Commits are read as the caller
 * asks for them.
 * @throws {CorruptThread} if a commit is no part of a thread, or the chain ends before a start
 */
export function readChain(repository: Repository, from: ObjectId): AsyncGenerator<ThreadCommit, void, void> {
  return walkChain(from, (id) => readThreadCommit(repository, id));
}

/** Walks a thread as {@link readChain} does, with another reader of commits. */
export async function* walkChain<C extends Pick<ThreadCommit, 'id' | 'kind' | 'commit'>>(
  from: ObjectId,
  read: (id: ObjectId) => Promise<C>,
): AsyncGenerator<C, void, void> {
  let next = from;
  for (let count = 1; ; count += 1) {
    if (count % PAUSE_EVERY === 0) await letOthersWork();
    const commit = await read(next);
    yield commit;
    if (commit.kind === 'start') return;
    const [parent] = commit.commit.parents;
    if (parent === undefined) throw new CorruptThread(commit.id, 'it is no start and has no parent');
    next = parent;
  }
}
