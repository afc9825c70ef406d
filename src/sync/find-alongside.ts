import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readChain } from '../thread/chain.ts';
import { readChildEnds } from '../thread/child-ends.ts';
import { readStart } from '../thread/read-start.ts';
import { parseThreadId, type ThreadId } from '../thread/thread-id.ts';

/**
 * Finds the threads whose commits go along with those of a thread: its callers, since its start has the caller's commit as
 * parent, and the children that its steps took in, with theirs.
 *
 * They are called by the ids that they were born with. What the remote has of the thread already is not gone through.
 * @param had where the remote had the thread; `null` if it did not
 */
export async function findAlongside(
  repository: Repository,
  head: ObjectId,
  had: ObjectId | null,
): Promise<Set<ThreadId>> {
  const found = new Set<ThreadId>();
  const passed = new Set<ObjectId>(had === null ? [] : [had]);
  const waiting: ObjectId[] = [head];
  const goAlong = async (id: ObjectId): Promise<void> => {
    const start = await readStart(repository, id);
    if (start) found.add(parseThreadId(start.node.id));
    waiting.push(id);
  };
  for (let from = waiting.pop(); from !== undefined; from = waiting.pop()) {
    if (passed.has(from)) continue;
    for await (const commit of readChain(repository, from)) {
      if (passed.has(commit.id)) break;
      passed.add(commit.id);
      const [caller] = commit.commit.parents;
      if (commit.kind === 'start' && caller !== undefined) await goAlong(caller);
      if (commit.kind === 'step') for (const { id } of await readChildEnds(repository, commit)) await goAlong(id);
    }
  }
  return found;
}
