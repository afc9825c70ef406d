import { parseConfig } from './config.ts';
import type { ConfigEntry } from './config.ts';
import { readIfThere } from './git-directory.ts';
import { hasWorktreeConfig } from './repository-format.ts';

/** A repository's own configuration, without the user's and the system's. */
export type RepositoryConfig = {
  /** The file that linked worktrees share. The repository's format is described by this one alone. */
  path: string;
  shared: ConfigEntry[];
  /** `shared`, followed by the worktree's own variables where `extensions.worktreeConfig` is set. */
  all: ConfigEntry[];
  /** Whether the worktree has variables of its own. */
  isPerWorktree: boolean;
};

/**
 * Reads `<common dir>/config` and, where it is switched on, `<git dir>/config.worktree`. Files that are not there are empty.
 *
 * @throws {InvalidGitConfig} if git could not read them either
 */
export function readRepositoryConfig(gitDir: string, commonDir: string): RepositoryConfig {
  const path = `${commonDir}/config`;
  const shared = parseConfig(readIfThere(path) ?? '', path);
  if (!hasWorktreeConfig(shared, path)) return { path, shared, all: shared, isPerWorktree: false };
  const ownPath = `${gitDir}/config.worktree`;
  const own = parseConfig(readIfThere(ownPath) ?? '', ownPath);
  return { path, shared, all: [...shared, ...own], isPerWorktree: true };
}
