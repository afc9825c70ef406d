import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { Ref } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { nothingForDataError } from '../../thread/fault-of.ts';

/** Clocks of machines that work on one thread may differ by so much. */
const SKEW_MS = 24 * 60 * 60 * 1000;

/** Refs that lead to some commits, and all commits on the way there. */
export type Affected = {
  refs: Ref[];
  /** Those commits and all that stand on them, each after what it stands on. */
  commits: ObjectId[];
};

/**
 * Finds what stands on some commits, among refs: forks, callers, child threads.
 *
 * Looks no further back than a day before the oldest of the commits.
 */
export async function findAffected(
  { objects }: Repository,
  refs: readonly Ref[],
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
  const found: Ref[] = [];
  for (const ref of refs) {
    await settle(ref.id);
    if (leads.get(ref.id) === true) found.push(ref);
  }
  return { refs: found, commits };
}
