import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tryTo } from '../../or-else.ts';
import { realPath } from '../repository/git-directory.ts';
import { linkedWorkTrees, type LinkedWorkTree } from '../repository/linked-work-trees.ts';
import { isMadeForThread } from '../repository/thread-work-tree.ts';
import type { RepositoryLocation } from '../repository.ts';

/** The real path of a folder that may be gone, and whose parent can still lie behind a link. */
export function realPlace(folder: string): string {
  return join(realPath(dirname(folder)), basename(folder));
}

/**
 * Finds the registration of a work tree that uwf made and whose folder is gone, or empty: git makes no work tree there while it
 * is registered. One that `git worktree lock` locked is not found: its disk may not be mounted.
 */
export function findGone(location: RepositoryLocation, folder: string): LinkedWorkTree | undefined {
  if (existsSync(folder) && readdirSync(folder).length > 0) return undefined;
  const { commonDir } = location;
  const top = realPlace(folder);
  return linkedWorkTrees(location).find(
    (tree) => tree.top === top && isMadeForThread({ ...tree, commonDir }) && !existsSync(join(tree.gitDir, 'locked')),
  );
}

/**
 * Removes a linked work tree, whatever it contains, and its registration.
 *
 * Other registrations stay: `git worktree prune` would also remove that of a work tree on a disk that is not mounted, or one
 * that another process is just making. File system errors come through as they are.
 */
export function removeLinked(location: RepositoryLocation, folder: string): void {
  const top = realPlace(folder);
  // The registration last: without it, a killed process would leave a folder that no command finds.
  const registered = linkedWorkTrees(location).filter((tree) => tree.top === top);
  rmSync(folder, { recursive: true, force: true });
  for (const { gitDir } of registered) {
    rmSync(gitDir, { recursive: true, force: true });
    // As git does after the last one.
    tryTo(() => rmdirSync(dirname(gitDir)));
  }
}
