import type { GitEnvironment } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';
import { keyOf, listGitVariables, subsectionOf, type GitVariable } from './git-variables.ts';

/**
 * Lists the names of the remotes that git's configuration has, each once, in its order.
 *
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function listRemotes(location: RepositoryLocation, env: GitEnvironment): Promise<string[]> {
  return remotesIn(await listGitVariables(location, env));
}

/** The names of the remotes among variables. */
export function remotesIn(variables: readonly GitVariable[]): string[] {
  const urls = variables.filter(({ name }) => name.startsWith('remote.') && /^(?:url|pushurl|vcs)$/.test(keyOf(name)));
  return [...new Set(urls.flatMap(({ name }) => subsectionOf(name) ?? []))];
}
