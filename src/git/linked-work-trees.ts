import { readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { readIfThere, realPath } from './git-directory.ts';
import type { RepositoryLocation } from './repository.ts';

/** A work tree that was linked to a repository. */
export type LinkedWorkTree = {
  /** Its top, links resolved. */
  top: string;
  /** Its own git folder. */
  gitDir: string;
};

/**
 * The work trees that were linked to a repository with `git worktree add`: what the repository itself says of them, so that
 * a folder does not become one by calling itself one.
 *
 * Those that are gone, and not pruned yet, are among them.
 * Source: gitrepository-layout(5), "worktrees/<id>/gitdir".
 */
export function linkedWorkTrees({ commonDir }: Pick<RepositoryLocation, 'commonDir'>): LinkedWorkTree[] {
  const folder = join(commonDir, 'worktrees');
  return namesIn(folder).flatMap((name) => {
    const gitDir = join(folder, name);
    const gitFile = readIfThere(join(gitDir, 'gitdir'))?.trimEnd();
    // Relative ones start at the folder that names them (`worktree.useRelativePaths`).
    const path = gitFile && resolve(gitDir, gitFile);
    return path && basename(path) === '.git' ? [{ top: realPath(dirname(path)), gitDir }] : [];
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // There are none.
    return [];
  }
}
