import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { CorruptThread } from './thread-errors.ts';
import { readThreadCommit, type ThreadCommit } from './thread-commit.ts';

/**
 * Walks a thread from a commit back to its start along first parents, newest first.
 *
 * It stops at the start, even where that has a parent (a child thread's is its caller's commit). Reads only what is
 * asked for: breaking off costs nothing more.
 * @throws {CorruptThread} if a commit is no part of a thread, or the chain ends before a start
 */
export async function* readChain(repository: Repository, from: ObjectId): AsyncGenerator<ThreadCommit, void, void> {
  let id: ObjectId | undefined = from;
  while (id !== undefined) {
    const commit: ThreadCommit = await readThreadCommit(repository, id);
    yield commit;
    if (commit.kind === 'start') return;
    id = commit.commit.parents[0];
    if (id === undefined) throw new CorruptThread(commit.id, 'it is no start and has no parent');
  }
}
