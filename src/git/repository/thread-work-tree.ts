import { existsSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { configuredWorkTree, readRepositoryConfig } from './repository-config.ts';
import type { RepositoryLocation } from '../repository.ts';
import { share } from '../system/sharing.ts';

/** A file in the git folder of a linked work tree: uwf made the work tree, for the files of an agent. */
const MARK = 'uwf-made-for-thread';

/** Marks a linked work tree as made for a thread. File system errors come through as they are. */
export function markMadeForThread({ gitDir }: Pick<RepositoryLocation, 'gitDir'>): void {
  const file = join(gitDir, MARK);
  writeFileSync(file, '');
  share(file);
}

/** Tells whether uwf made a linked work tree for a thread; false for work trees of people. */
export function isMadeForThread({ gitDir, commonDir }: Pick<RepositoryLocation, 'gitDir' | 'commonDir'>): boolean {
  return gitDir !== commonDir && existsSync(join(gitDir, MARK));
}

/**
 * The main work tree of a repository, found from any of its work trees; `undefined` for a bare repository.
 * Source: git-worktree(1); `get_main_worktree` in git's worktree.c, and gitrepository-layout(5) of `core.worktree`.
 */
export function mainWorkTree({ commonDir }: Pick<RepositoryLocation, 'commonDir'>): string | undefined {
  const configured = configuredWorkTree(readRepositoryConfig(commonDir, commonDir), commonDir);
  if (configured !== undefined) return configured ?? undefined;
  return basename(commonDir) === '.git' ? dirname(commonDir) : undefined;
}
