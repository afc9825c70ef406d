import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Repository } from '../../git/repository.ts';
import { nothingForDataError } from '../../thread/fault-of.ts';
import type { ThreadPointer } from '../../thread/thread-refs.ts';

/** Clocks of machines that work on one thread may differ by so much. */
const SKEW_MS = 24 * 60 * 60 * 1000;

/** Threads that lead to some commits, and all commits on the way there. */
export type Affected = {
  threads: ThreadPointer[];
  /** Those commits and all that stand on them, each after what it stands on. */
  commits: ObjectId[];
};

/**
 * Finds what stands on some commits, among threads: forks, callers, child threads.
 *
 * Looks no further back than a day before the oldest of the commits.
 */
export async function findAffected(
  { objects }: Repository,
  threads: readonly ThreadPointer[],
  dirty: ReadonlySet<ObjectId>,
): Promise<Affected> {
  const times = await Promise.all([...dirty].map(async (id) => (await readCommit(objects, id)).committer.atMs));
  const oldestMs = Math.min(...times) - SKEW_MS;
  /** Whether a commit leads to one of them; `undefined` while that is being found out. */
  const leads = new Map<ObjectId, boolean | undefined>();
  const commits: ObjectId[] = [];
  const settle = async (head: ObjectId): Promise<void> => {
    const stack: { id: ObjectId; parents: readonly ObjectId[]; next: number }[] = [];
    const enter = async (id: ObjectId): Promise<void> => {
      if (leads.has(id)) return;
      leads.set(id, undefined);
      // What is damaged, or no commit, leads nowhere.
      const commit = await readCommit(objects, id).catch(nothingForDataError);
      const isOld = commit === undefined || commit.committer.atMs < oldestMs;
      stack.push({ id, parents: isOld ? [] : commit.parents, next: 0 });
    };
    await enter(head);
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const parent = top.parents[top.next];
      top.next += 1;
      if (parent !== undefined) {
        await enter(parent);
        continue;
      }
      const isAffected = dirty.has(top.id) || top.parents.some((id) => leads.get(id) === true);
      leads.set(top.id, isAffected);
      if (isAffected) commits.push(top.id);
      stack.pop();
    }
  };
  const found: ThreadPointer[] = [];
  for (const thread of threads) {
    await settle(thread.head);
    if (leads.get(thread.head) === true) found.push(thread);
  }
  return { threads: found, commits };
}
