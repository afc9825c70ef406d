import { existsSync, lstatSync, writeFileSync } from 'node:fs';
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
 * Puts back the `.git` of a linked work tree if it is gone, as `git worktree repair` does. File system errors come through as
 * they are.
 */
export function relinkWorkTree(location: Pick<RepositoryLocation, 'commonDir'>, folder: string): void {
  const link = join(folder, '.git');
  if (!existsSync(folder) || lstatSync(link, { throwIfNoEntry: false }) !== undefined) return;
  const top = realPath(folder);
  const registered = linkedWorkTrees(location).find((tree) => tree.top === top);
  if (registered !== undefined) writeFileSync(link, `gitdir: ${registered.gitDir}\n`, { flag: 'wx' });
}
