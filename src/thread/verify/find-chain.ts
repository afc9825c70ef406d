import { readAnyTree, readCommit } from '../../git/read.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { INDEX_NAME } from '../../cas/index-blob.ts';
import { CorruptThread } from '../thread-errors.ts';
import { alone } from './alone.ts';
import { attempt } from './finding.ts';

/** The commits of a chain that are to be looked at, the newest first. */
export type FoundChain = {
  ids: ObjectId[];
  /** The commit before them, at which finding ended; absent where the oldest of them is a start, or something is wrong. */
  base?: ObjectId;
  /** Why the chain cannot be gone through to its start: what is wrong with the oldest of them. */
  wrong?: string;
};

/** What to do on the way down a chain. */
export type ChainSearch = {
  /** Tells a commit at which to end. */
  isKnown: (id: ObjectId) => boolean | Promise<boolean>;
  maxCommits: number;
};

/**
 * Goes down a chain to its start, or to a commit that is known. Of each commit it is read whether there is a start in its
 * tree, and no more: whether it is what it has to be is for who goes up again to check.
 */
export async function findChain(
  { objects }: Repository,
  head: ObjectId,
  { isKnown, maxCommits }: ChainSearch,
): Promise<FoundChain> {
  const ids: ObjectId[] = [];
  for (let next = head; ;) {
    const id = alone(next);
    if (await isKnown(id)) return { ids, base: id };
    ids.push(id);
    if (ids.length > maxCommits) return { ids, wrong: `it has more than ${maxCommits} new commits after it` };
    let wrong = 'it is no start and has no parent';
    const found = (_: string | null, what: string): void => void (wrong = what);
    const read = await attempt(found, null, async () => {
      const { tree, parents } = await readCommit(objects, id);
      const names = (await readAnyTree(objects, tree)).map(({ name }) => name);
      // What is no thread at all is told from its first commit, however much lies behind it.
      if (!names.includes(INDEX_NAME)) throw new CorruptThread(id, 'its tree has no index');
      return { parent: parents[0], isStart: names.includes('start.json') };
    });
    if (read?.isStart) return { ids };
    if (read?.parent === undefined) return { ids, wrong };
    next = read.parent;
  }
}
