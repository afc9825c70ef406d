import { existsSync, lstatSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readIfThere, realPath } from './git-directory.ts';
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
  const target = /^gitdir: (.+?)[\r\n]*$/s.exec(readIfThere(link) ?? '')?.[1];
  if (target === undefined || !existsSync(resolve(top, target))) return 'nowhere';
  return realPath(resolve(top, target)) === realPath(gitDir) ? 'here' : 'elsewhere';
}

/**
 * Puts right the `.git` of a linked work tree that leads nowhere, as `git worktree repair` does. File system errors come
 * through as they are.
 */
export function relinkWorkTree(location: Pick<RepositoryLocation, 'commonDir'>, folder: string): void {
  if (!existsSync(folder)) return;
  const top = realPath(folder);
  const registered = linkedWorkTrees(location).find((tree) => tree.top === top);
  if (registered === undefined || linkOf(registered) !== 'nowhere') return;
  const link = join(folder, '.git');
  // A link of the file system that an agent left there would be followed.
  rmSync(link, { force: true });
  writeFileSync(link, `gitdir: ${registered.gitDir}\n`, { flag: 'wx' });
}
