import { existsSync, lstatSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readIfThere, realPath, targetOfGitFile } from './git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';
import { namesIn } from '../system/names-in.ts';

/** A linked work tree of a repository. */
export type LinkedWorkTree = {
  /** Its top, links resolved. */
  top: string;
  /** Its own git folder. */
  gitDir: string;
};

/**
 * Lists the work trees that `git worktree add` has linked to a repository, as the repository records them: a folder cannot
 * claim to be one.
 *
 * Includes work trees that are gone and not pruned yet.
 * Source: gitrepository-layout(5), "worktrees/<id>/gitdir".
 */
export function linkedWorkTrees({ commonDir }: Pick<RepositoryLocation, 'commonDir'>): LinkedWorkTree[] {
  const folder = join(commonDir, 'worktrees');
  return namesIn(folder).flatMap((name) => {
    const gitDir = join(folder, name);
    const gitFile = readIfThere(join(gitDir, 'gitdir'))?.trimEnd();
    // Relative paths start at the folder that contains the file (`worktree.useRelativePaths`).
    const path = gitFile && resolve(gitDir, gitFile);
    return path && basename(path) === '.git' ? [{ top: realPath(dirname(path)), gitDir }] : [];
  });
}

/**
 * Tells where the `.git` in the folder of a work tree leads: to the work tree's own git folder, to another one (this repository
 * is a copy of the one that has the work tree), or to none, because it was removed or the repository was moved.
 */
export function linkOf({ top, gitDir }: LinkedWorkTree): 'here' | 'elsewhere' | 'nowhere' {
  const link = join(top, '.git');
  if (lstatSync(link, { throwIfNoEntry: false })?.isDirectory()) return 'elsewhere';
  const target = targetOfGitFile(link, readIfThere(link) ?? '');
  if (target === undefined || !existsSync(target)) return 'nowhere';
  return realPath(target) === realPath(gitDir) ? 'here' : 'elsewhere';
}

/**
 * Puts right the `.git` of a linked work tree that leads nowhere, as `git worktree repair` does. File system errors come
 * through as they are.
 */
export function relink(tree: LinkedWorkTree): void {
  if (!existsSync(tree.top) || linkOf(tree) !== 'nowhere') return;
  const link = join(tree.top, '.git');
  // A link of the file system that an agent left there would be followed.
  rmSync(link, { force: true });
  writeFileSync(link, `gitdir: ${tree.gitDir}\n`, { flag: 'wx' });
}
