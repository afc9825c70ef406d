import { join } from 'node:path';
import type { RefName } from '../../ref-store.ts';
import type { RepositoryLocation } from '../../repository.ts';

/** Prefixes of refs that every linked worktree has for itself, like `HEAD` and other pseudo refs. */
const ownOfWorktree: readonly string[] = ['refs/bisect/', 'refs/worktree/', 'refs/rewritten/'];

/**
 * The file of a loose ref.
 *
 * Source: gitrepository-layout(5), git-worktree(1) "Refs".
 */
export function refPath(location: RepositoryLocation, name: RefName): string {
  return join(isOwnOfWorktree(name) ? location.gitDir : location.commonDir, name);
}

/** Tells whether a ref, or every ref below a prefix that ends in `/`, belongs to one worktree. */
export function isOwnOfWorktree(name: string): boolean {
  return !name.startsWith('refs/') || ownOfWorktree.some((prefix) => name.startsWith(prefix));
}

/** The prefixes below `prefix` whose refs are in the folder of the worktree. */
export function worktreePrefixesBelow(prefix: string): readonly string[] {
  return ownOfWorktree.filter((own) => own !== prefix && own.startsWith(prefix));
}
