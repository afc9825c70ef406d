import { spawnSync } from 'node:child_process';
import { devNull } from 'node:os';
import { delimiter, isAbsolute } from 'node:path';
import { orElse } from '../../or-else.ts';
import { InvalidGitConfig, parseGitConfig, type ConfigEntry } from '../format/config.ts';
import { isExecutable, readIfThere, startOfFile } from './git-directory.ts';
import { errnoOf } from '../format/object-errors.ts';
import { readRepositoryConfig } from './repository-config.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import type { GitVariable } from '../process/git-variables.ts';

/** The system's configuration of a git that is built for `/usr`. Source: `ETC_GITCONFIG` in git's Makefile. */
const usualGit = { program: '/usr/bin/git', systemConfig: '/etc/gitconfig' };
/** Variables that hold configuration. */
const unusual = ['GIT_CONFIG', 'GIT_CONFIG_PARAMETERS', 'GIT_CONFIG_COUNT'];
const magicOfPrograms = Buffer.from('\x7fELF', 'latin1');

/**
 * Reads all variables that git sees in a repository from their files, as `listGitVariables` does, without starting git, which
 * would take longer than the rest of a short command.
 *
 * Returns `undefined` if only git can tell: for a git that is not from a Linux distribution and may have other files, for
 * includes, for variables in the environment, and for unreadable files.
 * Source: git-config(1), "FILES", "ENVIRONMENT"; `do_git_config_sequence` in git's config.c.
 */
export function readConfigFiles(location: RepositoryLocation, env: GitEnvironment): GitVariable[] | undefined {
  const outside = readUserVariables(env);
  return outside && unlessForGit(() => [...outside, ...readRepositoryVariables(location)]);
}

/** Reads the system's and the user's configuration in the same way; `undefined` if only git can tell. */
export function readUserVariables(env: GitEnvironment): GitVariable[] | undefined {
  if (!isUsualGit(env) || unusual.some((name) => env[name] !== undefined)) return undefined;
  const files = filesOutside(env);
  return files && unlessForGit(() => files.flatMap(readVariables));
}

/** The value of a variable in the configuration of the system and the user, not of a repository. */
export function userVariable(name: string, env: GitEnvironment): string | undefined {
  const variables = readUserVariables(env);
  if (variables !== undefined) return variables.findLast((variable) => variable.name === name)?.value;
  const asked = spawnSync('git', ['config', '--global', '--includes', '--get', name], { env, encoding: 'utf8' });
  return asked.status === 0 ? asked.stdout.trimEnd() : undefined;
}

function readVariables({ scope, path }: { scope: string; path: string }): GitVariable[] {
  // `/dev/null` means no configuration.
  return path === devNull ? [] : asVariables(scope, parseGitConfig(readIfThere(path) ?? '', path));
}

function unlessForGit(read: () => GitVariable[]): GitVariable[] | undefined {
  try {
    const variables = read();
    return variables.some(isForGit) ? undefined : variables;
  } catch (error) {
    // git reports the error.
    if (error instanceof InvalidGitConfig || errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

/**
 * An include, a variable without a section, white space in a value, which git before 2.45 reads as a space, or a NUL, where
 * git cuts the value off.
 * Source: `parse_value` in git's config.c.
 */
function isForGit({ name, value }: GitVariable): boolean {
  return /^(?:include(?:if)?)?\./.test(name) || name.includes('\0') || (value !== undefined && /[\t\r\0]/.test(value));
}

/**
 * Reads the variables of a repository's own configuration.
 *
 * @throws {InvalidGitConfig} if git could not read it either
 */
export function readRepositoryVariables({ gitDir, commonDir }: RepositoryLocation): GitVariable[] {
  const { shared, all } = readRepositoryConfig(gitDir, commonDir);
  return [...asVariables('local', shared), ...asVariables('worktree', all.slice(shared.length))];
}

/** The system's and the user's, in the order in which git reads them. */
function filesOutside(env: GitEnvironment): { scope: string; path: string }[] | undefined {
  const { GIT_CONFIG_NOSYSTEM: noSystem, GIT_CONFIG_SYSTEM: system = usualGit.systemConfig } = env;
  const { GIT_CONFIG_GLOBAL: global, HOME: home, XDG_CONFIG_HOME: xdg } = env;
  if (noSystem !== undefined && noSystem !== '1') return undefined;
  const users = global === undefined ? [`${xdg || `${home}/.config`}/git/config`, `${home}/.gitconfig`] : [global];
  const files = [
    ...(noSystem === '1' ? [] : [{ scope: 'system', path: system }]),
    ...users.map((path) => ({ scope: 'global', path })),
  ];
  // A missing HOME makes a relative path too.
  return files.every(({ path }) => isAbsolute(path)) ? files : undefined;
}

/** The entries of a configuration file, as git lists them. */
export function asVariables(scope: string, entries: readonly ConfigEntry[]): GitVariable[] {
  return entries.map(({ name, value }) => ({ scope, name, value }));
}

/** Tells whether the git on the PATH is a program at the usual place, and not a script. */
function isUsualGit({ PATH: path = '' }: GitEnvironment): boolean {
  if (process.platform !== 'linux') return false;
  const programs = path.split(delimiter).map((folder) => `${folder}/git`);
  // A relative or empty entry can mean any folder.
  const first = programs.find((program) => !isAbsolute(program) || program === '/git' || isExecutable(program));
  if (first !== usualGit.program) return false;
  // An unreadable file is not the usual git.
  return orElse(() => startOfFile(first, magicOfPrograms.byteLength).equals(magicOfPrograms), false);
}
