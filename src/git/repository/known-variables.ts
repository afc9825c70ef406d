import { spawnSync } from 'node:child_process';
import { listing, parseListed, type GitVariable } from '../process/git-variables.ts';
import type { GitPlace } from '../process/run-git.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { withoutPlaces } from './git-directory.ts';

/** More than any configuration. */
const MAX_BYTES = 64 * 1024 * 1024;

const listed = new WeakMap<RepositoryLocation, readonly GitVariable[]>();

/**
 * The variables as `listGitVariables` has them, listed once for a repository that a command opened; none if there is no git,
 * or if it cannot read its configuration. Waits for git, which takes Node half as long as running beside it.
 */
export function gitVariablesOf({ location, env }: GitPlace): readonly GitVariable[] {
  const { gitDir, commonDir } = location;
  const ask = (): GitVariable[] =>
    parseListed(askGit(listing, env, { GIT_DIR: gitDir, GIT_COMMON_DIR: commonDir }) ?? Buffer.alloc(0));
  const variables = listed.get(location) ?? ask();
  listed.set(location, variables);
  return variables;
}

/** Takes what `listGitVariables` has listed of a repository, so that {@link gitVariablesOf} does not ask git again. */
export function rememberVariables(location: RepositoryLocation, variables: readonly GitVariable[]): void {
  listed.set(location, variables);
}

/**
 * The value of a variable in the configuration of the system and the user, not of a repository: its author could name any program.
 */
export function userVariable(name: string, env: GitEnvironment): string | undefined {
  const printed = askGit(['config', '--null', '--includes', '--get', name], env, {});
  return printed?.toString('utf8').slice(0, -1);
}

/** @param places variables that name a repository */
function askGit(args: readonly string[], env: GitEnvironment, places: GitEnvironment): Buffer | undefined {
  const options = { cwd: '/', env: { ...withoutPlaces(env), ...places, LC_ALL: 'C' }, maxBuffer: MAX_BYTES };
  const { status, stdout } = spawnSync('git', args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] });
  return status === 0 ? stdout : undefined;
}
