import { UwfError } from '../../errors.ts';
import { type GitPlace, runGit } from '../process/run-git.ts';
import { refMappingOf } from './ref-mapping.ts';
import { noSuchRemote } from './remote-errors.ts';
import { listGitVariables } from '../process/git-variables.ts';
import { remotesIn } from '../repository/choose-remote.ts';

/** What a fetch copies: a name or a pattern of refs as they are called here, and the refs that get them. */
export type FetchedRefs = { source: string; target: string };

/**
 * Adds forced fetch refspecs to a remote, with the names that the refs have there, and changes nothing else in git's
 * configuration.
 *
 * @returns the refspecs that were new
 * @throws {UwfError} `no-such-remote` if git knows no remote of this name; nothing is written then
 * @throws {UwfError} `partial-clone` if git leaves out contents of what it fetches from it
 * @throws {UwfError} `invalid-uwf-prefix` as `openRemote`
 */
export async function addFetchRefspecs(git: GitPlace, remote: string, refs: readonly FetchedRefs[]): Promise<string[]> {
  const variables = await listGitVariables(git);
  const known = remotesIn(variables);
  if (!known.includes(remote)) throw noSuchRemote(remote, known);
  if (variables.some(({ name }) => name === `remote.${remote}.partialclonefilter`)) {
    throw new UwfError(`of what git fetches from ${remote} it leaves contents out, those of threads too`, {
      code: 'partial-clone',
      kind: 'usage',
      hint: `'uwf fetch ${remote}' brings threads whole`,
      facts: { remote },
    });
  }
  const mapping = refMappingOf(variables, remote);
  const key = `remote.${remote}.fetch`;
  const present = new Set(variables.filter(({ name }) => name === key).map(({ value }) => value));
  const missing = refs
    .map(({ source, target }) => `+${mapping?.there(source) ?? source}:${target}`)
    .filter((refspec) => !present.has(refspec));
  for (const refspec of missing) await runGit({ ...git, args: ['config', '--local', '--add', key, refspec] });
  return missing;
}
