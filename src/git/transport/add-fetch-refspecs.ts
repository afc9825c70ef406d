import type { GitPlace } from '../process/spawn-git.ts';
import { noSuchRemote } from './remote-errors.ts';
import { listGitVariables } from '../process/git-variables.ts';
import { remotesIn } from '../repository/choose-remote.ts';
import { runGit } from '../process/run-git.ts';

/**
 * Adds fetch refspecs to a remote, and changes nothing else in git's configuration.
 *
 * @returns the refspecs that were new
 * @throws {UwfError} `no-such-remote` if git knows no remote of this name; nothing is written then
 */
export async function addFetchRefspecs(git: GitPlace, remote: string, refspecs: readonly string[]): Promise<string[]> {
  const variables = await listGitVariables(git);
  const known = remotesIn(variables);
  if (!known.includes(remote)) throw noSuchRemote(remote, known);
  const key = `remote.${remote}.fetch`;
  const present = new Set(variables.filter(({ name }) => name === key).map(({ value }) => value));
  const missing = refspecs.filter((refspec) => !present.has(refspec));
  for (const refspec of missing) await runGit({ ...git, args: ['config', '--local', '--add', key, refspec] });
  return missing;
}
