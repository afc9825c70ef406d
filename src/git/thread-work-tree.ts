import { existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { configBoolean, findConfigEntry } from './config.ts';
import { realPath } from './git-directory.ts';
import { readRepositoryConfig } from './repository-config.ts';
import type { RepositoryLocation } from './repository.ts';
import { share } from './sharing.ts';

/** In the git folder of a linked work tree: it was made by uwf, and holds what an agent left. */
const MARK = 'uwf-made-for-thread';

/** Notes that a linked work tree was made for a thread. File system errors come through as they are. */
export function markMadeForThread({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): void {
  const file = join(gitDir, MARK);
  writeFileSync(file, '');
  share(file);
}

/** Tells whether a work tree is a linked one that uwf made for a thread, and not one that a person made. */
export function isMadeForThread({ gitDir, commonDir }: Pick<RepositoryLocation, 'gitDir' | 'commonDir'>): boolean {
  return gitDir !== commonDir && existsSync(join(gitDir, MARK));
}

/**
 * The main work tree of a repository, seen from any of its work trees; `undefined` for a bare one.
 * Source: git-worktree(1); `get_main_worktree` in git's worktree.c, and gitrepository-layout(5) of `core.worktree`.
 */
export function mainWorkTree({ commonDir }: Pick<RepositoryLocation, 'commonDir'>): string | undefined {
  const config = readRepositoryConfig(commonDir, commonDir);
  if (configBoolean(findConfigEntry(config.all, 'core', 'bare'), config.path) === true) return undefined;
  const configured = findConfigEntry(config.all, 'core', 'worktree')?.value;
  if (configured !== undefined) return realPath(resolve(commonDir, configured));
  return basename(commonDir) === '.git' ? dirname(commonDir) : undefined;
}
