import { resolve } from 'node:path';
import { configBoolean, findConfigEntry, parseGitConfig } from '../format/config.ts';
import type { ConfigEntry } from '../format/config.ts';
import type { GitVariable } from '../process/git-variables.ts';
import type { RepositoryLocation } from '../repository.ts';
import { readIfThere, realPath } from './git-directory.ts';

/** A repository's own configuration, without the user's and the system's. */
export type RepositoryConfig = {
  /** The file that linked worktrees share. Only this file describes the repository's format. */
  path: string;
  shared: ConfigEntry[];
  /** `shared`, followed by the worktree's own variables if `extensions.worktreeConfig` is set. */
  all: ConfigEntry[];
  /** Whether the worktree has variables of its own. */
  isPerWorktree: boolean;
};

/**
 * Reads `<common dir>/config` and, if it is enabled, `<git dir>/config.worktree`. Missing files are empty.
 *
 * @throws {InvalidGitConfig} if git could not read them either
 */
export function readRepositoryConfig(gitDir: string, commonDir: string): RepositoryConfig {
  const path = `${commonDir}/config`;
  const shared = parseGitConfig(readIfThere(path) ?? '', path);
  const isPerWorktree = configBoolean(findConfigEntry(shared, 'extensions.worktreeconfig'), path) ?? false;
  if (!isPerWorktree) return { path, shared, all: shared, isPerWorktree };
  const ownPath = `${gitDir}/config.worktree`;
  const own = parseGitConfig(readIfThere(ownPath) ?? '', ownPath);
  return { path, shared, all: [...shared, ...own], isPerWorktree };
}

/**
 * The work tree that a repository's own configuration names: null if it says that there is none, `undefined` if it says
 * nothing.
 * @param base the folder that a relative path starts from
 */
export function configuredWorkTree({ all, path }: RepositoryConfig, base: string): string | null | undefined {
  if (configBoolean(findConfigEntry(all, 'core.bare'), path) === true) return null;
  const configured = findConfigEntry(all, 'core.worktree')?.value;
  return configured === undefined ? undefined : realPath(resolve(base, configured));
}

/**
 * The variables of a repository's own configuration, includes not followed.
 *
 * @throws {InvalidGitConfig} if git could not read it either
 */
export function readRepositoryVariables({ gitDir, commonDir }: RepositoryLocation): GitVariable[] {
  const { shared, all } = readRepositoryConfig(gitDir, commonDir);
  return [...asVariables('local', shared), ...asVariables('worktree', all.slice(shared.length))];
}

/** The entries of a configuration file, as git lists them. */
export function asVariables(scope: string, entries: readonly ConfigEntry[]): GitVariable[] {
  return entries.map(({ name, value }) => ({ scope, name, value }));
}
