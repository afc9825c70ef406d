import { readAnyTree, readCommit } from '../../git/stores/read.ts';
import { alone, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommitNodes } from '../../cas/commit-nodes.ts';
import { INDEX_NAME } from '../../cas/index-blob.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { attempt } from '../fault.ts';

/** The commits of a chain that have to be checked, the newest first. */
export type FoundChain = {
  ids: ObjectId[];
  /** The known commit before them; absent if the oldest of them is a start, or the chain is broken. */
  base?: ObjectId;
  /** Why the chain does not lead to a start: a fault of the oldest commit. */
  wrong?: string;
};

/**
 * Walks a chain down to its start, or to a known commit. Reads only whether each commit's tree contains a start. The checks
 * follow on the way up.
 *
 * @param isKnown tells a commit that needs no check; default: none
 * @param maxCommits default: no limit
 */
export async function findChain(
  { objects }: Repository,
  head: ObjectId,
  isKnown: (id: ObjectId) => boolean | Promise<boolean> = () => false,
  maxCommits: number = Infinity,
): Promise<FoundChain> {
  const ids: ObjectId[] = [];
  for (let next = head; ;) {
    const id = alone(next);
    if (await isKnown(id)) return { ids, base: id };
    ids.push(id);
    if (ids.length > maxCommits) {
      const wrong = `it has more than ${maxCommits} new commits after it; fetch a fork of an earlier step first, so that fewer are new`;
      return { ids, wrong };
    }
    let wrong = 'it is no start and has no parent';
    const found = (_: string | null, what: string): void => void (wrong = what);
    const read = await attempt(found, null, async () => {
      const { tree, parents } = await readCommit(objects, id);
      const names = (await readAnyTree(objects, tree)).map(({ name }) => name);
      // The first commit tells that it is no thread, however long its history is.
      if (!names.includes(INDEX_NAME)) throw new CorruptThread(id, 'its tree has no index');
      return { parent: parents[0], isStart: names.includes('start.json') };
    });
    if (read?.isStart) return { ids };
    if (read?.parent === undefined) return { ids, wrong };
    next = read.parent;
  }
}

/** Tells a commit of a thread, damaged or not, from a commit of the user's code. */
export async function isThreadCommit(repository: Repository, id: ObjectId): Promise<boolean> {
  const ignore = (): void => {};
  const nodes = await attempt(ignore, null, () => readCommitNodes(repository, id));
  return nodes === undefined || nodes.entries !== undefined;
}
