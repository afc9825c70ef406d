import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { GitEnvironment } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';
import { countPacks } from './foldable-packs.ts';
import { GitFailed, GitNotFound, runGit } from './run-git.ts';

/** What there is to know of a repository and of the git that works on it. */
export type Examination = {
  /** `2.39.5`; `undefined` if there is no git. */
  gitVersion: string | undefined;
  isShallow: boolean;
  packs: number;
  /** Variables that have to do with collecting garbage, and remotes; names in lower case but for subsections. */
  config: ReadonlyMap<string, string>;
};

/** Looks at a repository; at most two runs of git, and nothing is changed. */
export async function examineRepository(location: RepositoryLocation, env: GitEnvironment): Promise<Examination> {
  const isShallow = existsSync(join(location.commonDir, 'shallow'));
  const packs = countPacks(location);
  try {
    const version = (await runGit({ location, env, args: ['--version'] })).toString('utf8');
    const gitVersion = /\d+\.\d+(?:\.\d+)?/.exec(version)?.[0];
    return { gitVersion, isShallow, packs, config: await readConfig(location, env) };
  } catch (error) {
    if (!(error instanceof GitNotFound)) throw error;
    return { gitVersion: undefined, isShallow, packs, config: new Map() };
  }
}

async function readConfig(location: RepositoryLocation, env: GitEnvironment): Promise<Map<string, string>> {
  const pattern = '^(gc|maintenance|remote)\\.';
  try {
    const listed = await runGit({ location, env, args: ['config', '-z', '--get-regexp', pattern] });
    const records = listed.toString('utf8').split('\0').filter(Boolean);
    return new Map(
      records.map((record) => {
        const [name = '', ...value] = record.split('\n');
        return [name, value.join('\n')] as const;
      }),
    );
  } catch (error) {
    // git ends with 1 where no variable matches.
    if (error instanceof GitFailed) return new Map();
    throw error;
  }
}
