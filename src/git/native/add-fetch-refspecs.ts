import type { GitEnvironment } from '../git-directory.ts';
import { NoSuchRemote } from '../remote-errors.ts';
import type { RepositoryLocation } from '../repository.ts';
import { listGitVariables } from './git-variables.ts';
import { remotesIn } from './list-remotes.ts';
import { runGit } from './run-git.ts';

/**
 * Adds to what `git fetch <remote>` brings, and changes nothing else of git's configuration.
 *
 * @returns those of the refspecs that were not there already
 * @throws {NoSuchRemote} if git knows no remote of this name; nothing is written then
 */
export async function addFetchRefspecs(
  location: RepositoryLocation,
  env: GitEnvironment,
  remote: string,
  refspecs: readonly string[],
): Promise<string[]> {
  const variables = await listGitVariables(location, env);
  const known = remotesIn(variables);
  if (!known.includes(remote)) throw new NoSuchRemote(remote, known);
  const key = `remote.${remote}.fetch`;
  const present = new Set(variables.filter(({ name }) => name === key).map(({ value }) => value));
  const missing = refspecs.filter((refspec) => !present.has(refspec));
  for (const refspec of missing) await runGit({ location, env, args: ['config', '--local', '--add', key, refspec] });
  return missing;
}
