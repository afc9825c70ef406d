import type { GitPlace } from '../process/spawn-git.ts';
import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { withoutPlaces } from '../repository/git-directory.ts';
import { discoverRepository } from '../repository/discover.ts';
import type { ObjectId } from '../format/object-id.ts';
import { pathAsText } from '../format/quote-path.ts';
import { markMadeForThread } from '../repository/thread-work-tree.ts';
import { gitlinksIn } from './gitlinks.ts';
import { runWithoutFailing } from './find-changes.ts';
import { runGit } from '../process/run-git.ts';
import { findGone, removeLinked } from './remove-linked.ts';
import { runWorktree } from './run-worktree.ts';
import { setMerging } from './unfinished-operation.ts';

/** The content of a new linked work tree. */
export type WorkTreeContent = {
  tree: ObjectId;
  /** The detached `HEAD`. */
  commit: ObjectId;
  /** The commits that are being merged into it, whose files are in the tree. */
  merging?: readonly ObjectId[];
  /** Leave `HEAD` on a branch of this name that has no commit yet. */
  unbornBranch?: string;
};

/** The new work tree. */
export type RestoredWorkTree = {
  /** Absolute. */
  folder: string;
  /** The folders of submodules, which are empty, as `pathAsText` writes them. */
  submodules: string[];
  /** Required filters, if one of them failed: their files are as git stores them. Absent if none failed. */
  filters?: string[];
};

/**
 * Makes a linked work tree with exactly the files of a tree, and marks it as made for a thread. Differences from its commit
 * are in its index.
 *
 * Does not touch other work trees: no index, no `HEAD`, no branch. git refuses paths that lead out of the folder. A folder
 * that cannot be filled is removed.
 * @param folder absolute, or relative to the process; it must not exist, or be empty
 * @throws {UwfError} `folder-in-use` if the folder is not empty
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function restoreWorkTree(
  git: GitPlace,
  content: WorkTreeContent,
  folder: string,
): Promise<RestoredWorkTree> {
  const path = resolve(folder);
  if (existsSync(path) && readdirSync(path).length > 0) {
    const hint = 'name a folder that does not exist yet';
    const facts = { folder: path };
    throw new UwfError(`${path} is there already and is not empty`, {
      code: 'folder-in-use',
      kind: 'usage',
      hint,
      facts,
    });
  }
  // An earlier one there was deleted as a folder.
  if (findGone(git.location, path) !== undefined) removeLinked(git.location, path);
  const { tree, commit, unbornBranch } = content;
  await runWorktree(git, ['add', '--detach', '--no-checkout', '--', path, commit]);
  try {
    const location = await discoverRepository(path, withoutPlaces(git.env));
    markMadeForThread(location);
    const run = { location, env: git.env, settings: ['checkout.workers=0'] };
    const { filters } = await runWithoutFailing(run, ['read-tree', '--reset', '-u', tree], 'smudge');
    await fillSparse(run, content);
    setMerging(location, content.merging ?? []);
    if (unbornBranch !== undefined) {
      await runGit({ ...run, args: ['symbolic-ref', 'HEAD', `refs/heads/${unbornBranch}`] });
    }
    const listed = await runGit({ ...git, args: ['ls-tree', '-r', '-z', tree] });
    const submodules = gitlinksIn(listed).map((each) => pathAsText(each.path));
    return { folder: path, submodules, ...(filters.length > 0 && { filters }) };
  } catch (error) {
    removeLinked(git.location, path);
    throw error;
  }
}

/**
 * Writes the files outside of a sparse cone that a tree changes in its commit: they were there, or they would not have
 * changed. Unchanged files stay away. The new work tree has the cone of the one that it is linked to.
 */
async function fillSparse(git: GitPlace, { tree, commit }: WorkTreeContent): Promise<void> {
  const config = await runGit({ ...git, args: ['config', '--type=bool', '--default=false', 'core.sparseCheckout'] });
  if (config.toString('latin1').trim() !== 'true') return;
  const listing = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=d', commit, tree];
  const input = await runGit({ ...git, args: listing });
  await runGit({ ...git, args: ['update-index', '-z', '--no-skip-worktree', '--stdin'], input });
  await runGit({ ...git, args: ['checkout-index', '-z', '-f', '-u', '--stdin'], input });
}
