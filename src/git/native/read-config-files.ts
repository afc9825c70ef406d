import { accessSync, closeSync, constants, existsSync, openSync, readSync } from 'node:fs';
import { devNull } from 'node:os';
import { delimiter, isAbsolute } from 'node:path';
import { InvalidGitConfig, parseConfig, type ConfigEntry } from '../config.ts';
import { kindOfPath, readIfThere, type GitEnvironment } from '../git-directory.ts';
import { errnoOf } from '../object-errors.ts';
import { readRepositoryConfig } from '../repository-config.ts';
import type { RepositoryLocation } from '../repository.ts';
import type { GitVariable } from './git-variables.ts';

/** Where a git that was made for `/usr` finds the system's configuration. Source: `ETC_GITCONFIG` in git's Makefile. */
const usualGit = { program: '/usr/bin/git', systemConfig: '/etc/gitconfig' };
/** Configuration from the environment. */
const unusual = ['GIT_CONFIG', 'GIT_CONFIG_PARAMETERS', 'GIT_CONFIG_COUNT'];
const magicOfPrograms = Buffer.from('\x7fELF', 'latin1');

/**
 * Reads all variables that git sees in a repository from its files, as `listGitVariables` lists them, without starting it:
 * that costs more than all else of a short command.
 *
 * Gives `undefined` wherever only git can tell: another git than the one of a Linux distribution, which may have its files
 * elsewhere or none; includes; variables of the environment; files that cannot be read.
 * Source: git-config(1), "FILES", "ENVIRONMENT"; `do_git_config_sequence` in git's config.c.
 */
export function readConfigFiles(location: RepositoryLocation, env: GitEnvironment): GitVariable[] | undefined {
  const outside = readUserVariables(env);
  return outside && unlessForGit(() => [...outside, ...readRepositoryVariables(location)]);
}

/** Reads the variables of the system's and the user's configuration alike; `undefined` wherever only git can tell. */
export function readUserVariables(env: GitEnvironment): GitVariable[] | undefined {
  if (!isUsualGit(env) || unusual.some((name) => env[name] !== undefined)) return undefined;
  const files = filesOutside(env);
  return files && unlessForGit(() => files.flatMap(readVariables));
}

function readVariables({ scope, path }: { scope: string; path: string }): GitVariable[] {
  // Who wants no configuration names this one.
  return path === devNull ? [] : asVariables(scope, parseConfig(readIfThere(path) ?? '', path));
}

function unlessForGit(read: () => GitVariable[]): GitVariable[] | undefined {
  try {
    const variables = read();
    return variables.some(isForGit) ? undefined : variables;
  } catch (error) {
    // git says what is wrong with it.
    if (error instanceof InvalidGitConfig || errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

/**
 * An include; a variable of no section; white space in a value, which git before 2.45 reads as a space; what git cuts off.
 * Source: `parse_value` in git's config.c.
 */
function isForGit({ name, value }: GitVariable): boolean {
  return /^(?:include(?:if)?)?\./.test(name) || name.includes('\0') || (value !== undefined && /[\t\r\0]/.test(value));
}

/**
 * Reads the variables of a repository's own configuration; where the user's and the system's lie, git knows.
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
  // Without a HOME too.
  return files.every(({ path }) => isAbsolute(path)) ? files : undefined;
}

/** What a file of configuration says, as git lists it. */
export function asVariables(scope: string, entries: readonly ConfigEntry[]): GitVariable[] {
  return entries.map(({ section, subsection, key, value }) => ({
    scope,
    name: [section, ...(subsection === undefined ? [] : [subsection]), key].join('.'),
    value,
  }));
}

/** Whether the git that would be started is a program at the usual place, and no script around one. */
function isUsualGit({ PATH: path = '' }: GitEnvironment): boolean {
  if (process.platform !== 'linux') return false;
  const programs = path.split(delimiter).map((folder) => `${folder}/git`);
  // A relative entry, or an empty one, may mean any folder.
  const first = programs.find((program) => !isAbsolute(program) || program === '/git' || isExecutable(program));
  return first === usualGit.program && startOf(first).equals(magicOfPrograms);
}

/** What cannot be looked at is passed over, as where programs are started. */
function isExecutable(path: string): boolean {
  // Most folders have no git; to be told so by an error costs a tenth of a millisecond each.
  if (!existsSync(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return kindOfPath(path) === 'file';
  } catch {
    return false;
  }
}

function startOf(path: string): Buffer {
  const start = Buffer.alloc(magicOfPrograms.byteLength);
  try {
    const descriptor = openSync(path, 'r');
    try {
      readSync(descriptor, start, 0, start.byteLength, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // What cannot be read is not known.
  }
  return start;
}
