import type { ObjectId } from '../format/object-id.ts';
import { mergeInTurn, type Merge, type MergeBranch } from './merge-in-turn.ts';
import { TreeMerger, type MergedObjects, type MergePlace } from './tree-merger.ts';

/** A merge that is to be stored. */
export type MergedTree = Merge &
  MergedObjects & {
    /** False if a merge driver of this machine has run: another machine may get another tree. */
    isRepeatable: boolean;
    /** The version of git: `2.39.5`. */
    gitVersion: string;
  };

/**
 * Merges two commits or trees that began at one base, as `git merge` does, without a checkout.
 *
 * The result follows from the three trees and git's version alone. Merge drivers are the exception: one that is configured on
 * this machine and that `.gitattributes` names runs, as it does in git. What else a machine can configure is fixed:
 *
 * - Renames are found among up to 7000 files. A file that one side adds to a folder that the other renames is a conflict.
 * - Texts are compared by `histogram`. Conflicts are marked without the base (`merge.conflictStyle=merge`).
 * - Attributes are those of `.gitattributes` in our side. `info/attributes`, the attributes of the user and the system, and
 *   `merge.default` do not count.
 * - Contents are merged as they are stored: filters, line ends and `merge.renormalize` have no part.
 * - A submodule that both sides moved is a conflict: where it is not checked out, git cannot tell which commit is newer.
 * - Objects are not replaced (`refs/replace`).
 *
 * @param base the commit or the tree that both began at
 * @throws {UwfError} `git-too-old` before git 2.38, `merge-refused` with git's words, `no-place-for-files` if the repository is
 *   not on a disk
 * @throws {ObjectMissing} {CorruptObject} if one of the three is not there, or is neither a commit nor a tree
 * @throws {StorageFull} / {StorageReadOnly} / {GitNotFound} / {GitFailed}
 * Source: git-merge-tree(1); `merge_recursive_config` in git's merge-ort.c.
 */
export function mergeTrees(place: MergePlace, base: ObjectId, ours: ObjectId, theirs: ObjectId): Promise<MergedTree> {
  return mergeAll(place, base, ours, [{ key: 'theirs', commit: theirs }]);
}

/**
 * Merges branches that began at one base into our side, one after the other. Each is merged into what the earlier ones gave, with
 * their conflicts marked in it.
 *
 * @throws as {@link mergeTrees}
 */
export async function mergeAll(
  place: MergePlace,
  base: ObjectId,
  ours: ObjectId,
  theirs: readonly MergeBranch[],
): Promise<MergedTree> {
  return withMerger(place, true, async (merger) => {
    const merge = await mergeInTurn(place.repository.objects, merger, [base, ours], theirs);
    const taken = await merger.takeOver(merge.tree, merge.stages?.map(({ id }) => id) ?? []);
    return { ...merge, ...taken, isRepeatable: !merger.hasDriverRun, gitVersion: merger.gitVersion };
  });
}

/**
 * Merges as {@link mergeAll} does, for comparison with a recorded merge: runs no merge driver, and leaves nothing in the
 * repository.
 *
 * @throws as {@link mergeTrees}
 */
export async function repeatMerge(
  place: MergePlace,
  base: ObjectId,
  ours: ObjectId,
  theirs: readonly MergeBranch[],
): Promise<Merge & Pick<MergedTree, 'gitVersion'>> {
  return withMerger(place, false, async (merger) => ({
    ...(await mergeInTurn(place.repository.objects, merger, [base, ours], theirs)),
    gitVersion: merger.gitVersion,
  }));
}

async function withMerger<T>(
  place: MergePlace,
  hasDrivers: boolean,
  work: (merger: TreeMerger) => Promise<T>,
): Promise<T> {
  const merger = await TreeMerger.create(place, hasDrivers);
  try {
    return await work(merger);
  } finally {
    await merger.remove();
  }
}
