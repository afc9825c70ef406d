import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readChain } from '../../thread/read/read-chain.ts';
import { readChildEnds } from '../../thread/read/light-chain.ts';
import { findStart } from '../../thread/read/read-start.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { callerCommit } from '../../thread/read/thread-state.ts';

/**
 * Finds the threads whose commits are sent with those of a thread: its callers, because its start has the caller's commit as
 * parent, and the children that its steps took in, with theirs.
 *
 * Returns the ids that the threads started with.
 * @param had the thread's commit at the remote, where the search ends; `null` if the remote does not have the thread
 */
export async function findAlongside(
  repository: Repository,
  head: ObjectId,
  had: ObjectId | null,
): Promise<Set<ThreadId>> {
  const found = new Set<ThreadId>();
  const passed = new Set<ObjectId>(had === null ? [] : [had]);
  const waiting: ObjectId[] = [head];
  const add = async (id: ObjectId): Promise<void> => {
    const start = await findStart(repository, id);
    if (start) found.add(parseThreadId(start.node.id));
    waiting.push(id);
  };
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    if (passed.has(from)) continue;
    for await (const commit of readChain(repository, from)) {
      if (passed.has(commit.id)) break;
      passed.add(commit.id);
      const caller = commit.kind === 'start' ? callerCommit(commit) : undefined;
      if (caller !== undefined) await add(caller);
      if (commit.kind === 'step') for (const { id } of await readChildEnds(repository, commit)) await add(id);
    }
  }
  return found;
}
