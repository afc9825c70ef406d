import { readCommitNodesOnce } from '../cas/commit-nodes.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit } from '../git/read.ts';
import type { Repository } from '../git/repository.ts';

/**
 * Finds the commits that a thread's commits have as parents and that are none of uwf's: the user's code, where files were
 * recorded or a commit was pinned. What those follow is not among them.
 *
 * @param had where the remote has the thread; what that leads to is not gone through
 */
export async function findCodeCommits(
  repository: Repository,
  head: ObjectId,
  had: ObjectId | null,
): Promise<Set<ObjectId>> {
  const code = new Set<ObjectId>();
  const passed = new Set<ObjectId>(had === null ? [] : [had]);
  const waiting = [head];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (passed.has(id)) continue;
    passed.add(id);
    if (!(await isOwn(repository, id))) {
      code.add(id);
      continue;
    }
    // Along commits with one parent nothing else comes in, so that only the last of them is looked at again.
    let { parents } = await readCommit(repository.objects, id);
    let last = id;
    while (parents.length === 1 && parents[0] !== undefined && !passed.has(parents[0])) {
      [last] = parents as [ObjectId];
      passed.add(last);
      ({ parents } = await readCommit(repository.objects, last));
    }
    if (last === id || (await isOwn(repository, last))) waiting.push(...parents);
    else code.add(await firstCode(repository, id));
  }
  return code;
}

async function isOwn(repository: Repository, id: ObjectId): Promise<boolean> {
  return (await readCommitNodesOnce(repository, id)).entries !== undefined;
}

/** The first commit of a line that is none of uwf's. Only a ref that is no thread's leads to one. */
async function firstCode(repository: Repository, from: ObjectId): Promise<ObjectId> {
  let id = from;
  while (await isOwn(repository, id)) {
    const [parent] = (await readCommit(repository.objects, id)).parents;
    if (parent === undefined) return id;
    id = parent;
  }
  return id;
}
