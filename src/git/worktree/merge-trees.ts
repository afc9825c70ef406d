import { CorruptObject, ObjectMissing } from '../format/errors.ts';
import type { ObjectId } from '../format/object-id.ts';
import { parseCommit } from '../format/objects.ts';
import { pathAsText } from '../format/paths.ts';
import type { ObjectStore } from '../repository.ts';
import { differingPaths } from '../process/revisions.ts';
import { type GitPlace, runGit } from '../process/run-git.ts';
import { noteMarked } from './find-changes.ts';
import {
  type ConflictStage,
  type MergedObjects,
  type MergePlace,
  type MergeTreeOutput,
  TreeMerger,
} from './tree-merger.ts';

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
 * @param base the commit or the tree that both began at
 * @throws {UwfError} `git-too-old` before git 2.38, `merge-refused` with git's words, `no-place-for-files` if the repository is
 *   not on a disk
 * @throws {ObjectMissing} {CorruptObject} if one of the three is not there, or is neither a commit nor a tree
 * Source: git-merge-tree(1); `merge_recursive_config` in git's merge-ort.c.
 */
export function mergeTrees(place: MergePlace, base: ObjectId, ours: ObjectId, theirs: ObjectId): Promise<MergedTree> {
  return mergeAll(place, base, ours, [{ key: 'theirs', commit: theirs }]);
}

/**
 * Merges branches that began at one base into our side, one after the other. Each is merged into what the earlier ones gave, with
 * their conflicts marked in it.
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

/** What is merged into our side: the commit or the tree of a branch, and the name of the branch. */
type MergeBranch = { key: string; commit: ObjectId };

/** A conflict, as git reports it. */
export type MergeConflict = {
  /** As `pathAsText` writes it. */
  path: string;
  /** All files that it is about, `path` first: a conflict of renames has several. */
  paths: readonly string[];
  /** git's word for it: `contents`, `binary`, `modify/delete`, `rename/rename` … */
  kind: string;
  /** git's sentence, which names the sides `HEAD` and `branch/<key>`. It depends on git's version. */
  message: string;
  /** The earlier branches that changed one of the files, and last the branch whose merge gave the conflict. */
  keys: readonly string[];
};

export type Merge = {
  /** Files with conflicts have markers in it, or the content of one side. */
  tree: ObjectId;
  conflicts: readonly MergeConflict[];
  /**
   * The entries of an index that show the conflicts, for `markConflicts`; none without conflicts. `undefined` if two branches
   * have conflicts in one file, or a later branch changed a file with a conflict: an index cannot show that.
   */
  stages: readonly ConflictStage[] | undefined;
};

type Merged = { key: string; changed: () => Promise<ReadonlySet<string>>; output: MergeTreeOutput };

/** Merges branches into our side, one after the other, each with the same base. @throws as `mergeTrees` */
async function mergeInTurn(
  objects: ObjectStore,
  merger: TreeMerger,
  [base, ours]: readonly [base: ObjectId, ours: ObjectId],
  theirs: readonly MergeBranch[],
): Promise<Merge> {
  const { git } = merger;
  const from = await treeOf(objects, base);
  let tree = await treeOf(objects, ours);
  const merges: Merged[] = [];
  for (const { key, commit } of theirs) {
    const side = await treeOf(objects, commit);
    const output = await merger.merge({ base: from, ours: tree, theirs: side, name: key });
    tree = output.tree;
    merges.push({ key, changed: once(() => changedPlaces(git, from, side)), output });
  }
  return { tree, conflicts: await conflictsOf(merges), stages: await stagesOf(git, merges) };
}

async function conflictsOf(merges: readonly Merged[]): Promise<MergeConflict[]> {
  const conflicts: MergeConflict[] = [];
  for (const [at, { key, output }] of merges.entries()) {
    for (const { kind, message, paths } of output.conflicts) {
      const keys: string[] = [];
      for (const earlier of merges.slice(0, at)) {
        const changed = await earlier.changed();
        if (paths.some((path) => changed.has(path))) keys.push(earlier.key);
      }
      const [path = '', ...others] = paths.map(pathAsText);
      conflicts.push({ path, paths: [path, ...others], kind, message, keys: [...keys, key] });
    }
  }
  return conflicts;
}

async function stagesOf(git: GitPlace, merges: readonly Merged[]): Promise<ConflictStage[] | undefined> {
  const last = merges.at(-1)?.output.tree;
  const stages: ConflictStage[] = [];
  const seen = new Set<string>();
  for (const { output } of merges) {
    const paths = new Set(output.stages.map(({ path }) => path));
    if (paths.size === 0 || last === undefined) continue;
    const later = output.tree === last ? [] : await differingPaths(git, output.tree, last);
    if ([...paths].some((path) => seen.has(path)) || later.some((path) => paths.has(path))) return undefined;
    for (const path of paths) seen.add(path);
    stages.push(...output.stages);
  }
  return stages;
}

/** The files that a branch changed, and the folders above them: a file can stand where another side has a folder. */
async function changedPlaces(git: GitPlace, base: ObjectId, side: ObjectId): Promise<ReadonlySet<string>> {
  const places = new Set<string>();
  for (const path of await differingPaths(git, base, side)) {
    for (let end = path.length; end > 0 && !places.has(path.slice(0, end)); end = path.lastIndexOf('/', end - 1)) {
      places.add(path.slice(0, end));
    }
  }
  return places;
}

/** The tree of a commit, or the tree itself. */
async function treeOf(objects: ObjectStore, id: ObjectId): Promise<ObjectId> {
  const object = await objects.read(id);
  if (object === undefined) throw new ObjectMissing(id);
  if (object.type === 'tree') return id;
  if (object.type === 'commit') return parseCommit(object.data, objects.format).tree;
  throw new CorruptObject(id, `it is a ${object.type}, neither a commit nor a tree`);
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}

/**
 * Marks files of a work tree as conflicts of a merge, as `git status` shows them, and leaves its files as they are. `git add`
 * or `git rm` of a file resolves its conflict, and for uwf so does a file without the marks of a conflict: agents need no git.
 * @param git the work tree; the repository must have the objects
 * Source: git-update-index(1), "USING --INDEX-INFO".
 */
export async function markConflicts(git: GitPlace, stages: readonly ConflictStage[]): Promise<void> {
  if (stages.length === 0) return;
  const removed = new Map(stages.map(({ path, id }) => [path, `0 ${'0'.repeat(id.length)}\t${path}\0`]));
  const added = stages.map(({ mode, id, stage, path }) => `${mode} ${id} ${stage}\t${path}\0`);
  const input = Buffer.from([...removed.values(), ...added].join(''), 'latin1');
  noteMarked(git.location, [...removed.keys()]);
  await runGit({ ...git, args: ['update-index', '-z', '--index-info'], input });
}
