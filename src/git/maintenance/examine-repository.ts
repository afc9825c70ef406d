import type { GitPlace } from '../process/spawn-git.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { countPacks } from './repack.ts';
import { listGitVariables } from '../process/git-variables.ts';
import { readGitVersion } from '../process/git-version.ts';
import { GitFailed, GitNotFound } from '../process/run-git.ts';
import { inPlaceOf } from '../../or-else.ts';

/** Facts about a repository and the installed git. */
export type Examination = {
  /** `2.39.5`; `undefined` if there is no git. */
  gitVersion: string | undefined;
  isShallow: boolean;
  packs: number;
  /** Variables about garbage collection and remotes; names in lower case except subsections. */
  config: ReadonlyMap<string, string>;
};

/** Examines a repository with at most two runs of git. Changes nothing. */
export async function examineRepository(git: GitPlace): Promise<Examination> {
  const isShallow = existsSync(join(git.location.commonDir, 'shallow'));
  const packs = countPacks(git);
  const gitVersion = await readGitVersion(git).catch(inPlaceOf(GitNotFound, undefined));
  if (gitVersion === undefined) return { gitVersion, isShallow, packs, config: new Map() };
  return { gitVersion, isShallow, packs, config: await readConfig(git) };
}

/** Reads a variable without a value as ''. */
async function readConfig(git: GitPlace): Promise<Map<string, string>> {
  // git fails for a broken configuration.
  const variables = await listGitVariables(git).catch(inPlaceOf(GitFailed, []));
  const wanted = variables.filter(({ name }) => /^(?:gc|maintenance|remote)\./.test(name));
  return new Map(wanted.map(({ name, value = '' }) => [name, value]));
}
