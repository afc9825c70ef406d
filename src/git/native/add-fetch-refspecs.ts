import type { GitEnvironment } from '../git-directory.ts';
import { NoSuchRemote } from '../remote-errors.ts';
import type { RepositoryLocation } from '../repository.ts';
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
  const entries = await readConfig(location, env);
  const known = entries.flatMap(([key]) => /^remote\.(?<name>.+)\.url$/s.exec(key)?.groups?.['name'] ?? []);
  if (!known.includes(remote)) throw new NoSuchRemote(remote, [...new Set(known)]);
  const key = `remote.${remote}.fetch`;
  const present = new Set(entries.filter(([name]) => name === key).map(([, value]) => value));
  const missing = refspecs.filter((refspec) => !present.has(refspec));
  for (const refspec of missing) await runGit({ location, env, args: ['config', '--local', '--add', key, refspec] });
  return missing;
}

/** All variables, with section and name in lower case; one without a value is '' here. */
async function readConfig(location: RepositoryLocation, env: GitEnvironment): Promise<[key: string, value: string][]> {
  const listed = await runGit({ location, env, args: ['config', '--list', '-z'] });
  return listed
    .toString('utf8')
    .split('\0')
    .map((record) => {
      const end = record.indexOf('\n');
      return end === -1 ? [record, ''] : [record.slice(0, end), record.slice(end + 1)];
    });
}
