import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { withoutPlaces, type GitEnvironment } from '../git-directory.ts';
import { discoverRepository } from '../discover.ts';
import { parseObjectId, type ObjectId } from '../object-id.ts';
import type { ObjectStore } from '../object-store.ts';
import { pathAsText } from '../quote-path.ts';
import type { RepositoryLocation } from '../repository.ts';
import { markMadeForThread } from '../thread-work-tree.ts';
import { differingContents } from './diff-trees.ts';
import { requiredFilters, type IndexRun } from './find-changes.ts';
import { GitFailed, runGit } from './run-git.ts';

/** A folder where a work tree was to be made has something in it. */
export class FolderInUse extends UwfError {
  readonly folder: string;
  constructor(folder: string) {
    super(`${folder} is there already and is not empty`, {
      code: 'folder-in-use',
      kind: 'usage',
      hint: 'name a folder that does not exist yet',
    });
    this.folder = folder;
  }
}

/** What a linked work tree is to hold. */
export type WorkTreeContent = {
  tree: ObjectId;
  /** What is checked out there, as a detached `HEAD`. */
  commit: ObjectId;
  /** Leave `HEAD` on a branch of this name that has no commit yet. */
  unbornBranch?: string;
  /** Brings contents that a remote has promised; git itself fetches nothing here. */
  bring?: ObjectStore['prefetch'] | undefined;
};

/** What became of it. */
export type RestoredWorkTree = {
  /** Absolute. */
  folder: string;
  /** The folders of submodules, which are empty, as `pathAsText` writes them. */
  submodules: string[];
  /** Filters of which one failed at least: files that need them are as git stores them. Absent where none did. */
  filters?: string[];
};

/**
 * Makes a linked work tree that holds exactly the files of a tree, and marks it as made for a thread. What differs from its
 * commit is in its index.
 *
 * Nothing of other work trees is touched: no index, no `HEAD`, no branch. Paths that lead out of the folder git refuses.
 * A folder that could not be filled is taken back.
 * @param folder absolute, or relative to the process; it must not exist, or be empty
 * @throws {FolderInUse} if there is something in the folder
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function restoreWorkTree(
  location: RepositoryLocation,
  env: GitEnvironment,
  content: WorkTreeContent,
  folder: string,
): Promise<RestoredWorkTree> {
  const path = resolve(folder);
  if (existsSync(path) && readdirSync(path).length > 0) throw new FolderInUse(path);
  const { tree, commit, unbornBranch } = content;
  await runGit({ location, env, args: ['worktree', 'add', '--detach', '--no-checkout', '--', path, commit] });
  try {
    const there = await discoverRepository(path, withoutPlaces(env));
    markMadeForThread(there);
    const parallel = ['-c', 'checkout.workers=0'];
    const reading = [...parallel, 'read-tree', '--reset', '-u', tree];
    await content.bring?.(await contentsOf({ location: there, env }, tree));
    const filters = await withoutFailing({ location: there, env }, reading);
    await fillSparse(there, env, content);
    if (unbornBranch !== undefined) {
      await runGit({ location: there, env, args: ['symbolic-ref', 'HEAD', `refs/heads/${unbornBranch}`] });
    }
    const listed = await runGit({ location, env, args: ['ls-tree', '-r', '-z', tree] });
    const submodules = submodulesIn(listed);
    return { folder: path, submodules, ...(filters.length > 0 && { filters }) };
  } catch (error) {
    await runGit({ location, env, args: ['worktree', 'remove', '--force', '--', path] }).catch(() => {
      rmSync(join(path, '.git'), { force: true });
    });
    throw error;
  }
}

/** The contents that a work tree is to hold: all of a tree, but for what is outside of a sparse cone. Fills its index. */
async function contentsOf(run: IndexRun, tree: ObjectId): Promise<ObjectId[]> {
  await runGit({ ...run, args: ['read-tree', '--reset', tree] });
  const lines = (await runGit({ ...run, args: ['ls-files', '-s', '-t', '-z'] })).toString('latin1').split('\0');
  return lines.flatMap((line) => {
    const [, id] = /^H 1[02]\d+ ([0-9a-f]+) /.exec(line) ?? [];
    return id === undefined ? [] : [parseObjectId(id)];
  });
}

/** Runs git without the filters that it cannot do without, where it fails with them. @returns which these are */
async function withoutFailing(run: IndexRun, args: readonly string[]): Promise<string[]> {
  try {
    await runGit({ ...run, args });
    return [];
  } catch (error) {
    const filters = error instanceof GitFailed ? await requiredFilters(run) : [];
    if (filters.length === 0) throw error;
    const unset = filters.flatMap((name) =>
      ['process=', 'smudge=', 'required=false'].map((to) => `filter.${name}.${to}`),
    );
    await runGit({ ...run, args: [...unset.flatMap((pair) => ['-c', pair]), ...args] });
    return filters;
  }
}

/**
 * Writes what a tree changes of its commit outside of a sparse cone, which the new work tree has from the one it is linked
 * to: it was there, or it would not have changed. What is as in the commit stays away.
 */
async function fillSparse(
  location: RepositoryLocation,
  env: GitEnvironment,
  { tree, commit, bring }: WorkTreeContent,
): Promise<void> {
  const run = { location, env };
  const config = await runGit({ ...run, args: ['config', '--type=bool', '--default=false', 'core.sparseCheckout'] });
  if (config.toString('latin1').trim() !== 'true') return;
  await bring?.(await differingContents(location, env, commit, tree));
  const listing = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--diff-filter=d', commit, tree];
  const input = await runGit({ ...run, args: listing });
  await runGit({ ...run, args: ['update-index', '-z', '--no-skip-worktree', '--stdin'], input });
  await runGit({ ...run, args: ['checkout-index', '-z', '-f', '-u', '--stdin'], input });
}

function submodulesIn(listed: Buffer): string[] {
  return listed
    .toString('latin1')
    .split('\0')
    .filter((line) => line.startsWith('160000 '))
    .map((line) => pathAsText(line.slice(line.indexOf('\t') + 1)));
}
