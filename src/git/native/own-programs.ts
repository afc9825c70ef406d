import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { parseConfig } from '../config.ts';
import { readIfThere, realPath, type GitEnvironment } from '../git-directory.ts';
import { linkedWorkTrees } from '../linked-work-trees.ts';
import { errnoOf } from '../object-errors.ts';
import type { RepositoryLocation } from '../repository.ts';
import { folderPathOf } from './choose-remote.ts';
import type { GitVariable } from './git-variables.ts';
import { remotesIn } from './list-remotes.ts';
import { asVariables, readRepositoryVariables } from './read-config-files.ts';
import { remoteUrl } from './remote-url.ts';

/** What git is used for: to reach a remote, or to read and write the files of a work tree. */
export type GitUse = 'remote' | 'files';

/** A variable of a repository's own configuration that makes git run a program. */
export type OwnProgram = {
  name: string;
  value: string;
  use: GitUse | 'both';
  /** The folder of the repository where a program lies that is not named: the hooks of a remote. */
  folder?: string;
};

const programs: Record<GitUse, RegExp> = {
  remote:
    /^(?:remote\..*\.(?:uploadpack|receivepack|vcs)|core\.(?:sshcommand|askpass|gitproxy)|credential\.(?:.*\.)?helper)$/s,
  files: /^filter\..*\.(?:clean|smudge|process)$/s,
};
const including = /^include(?:if\..*)?\.path$/s;
/** Source: `MAX_INCLUDE_DEPTH` in git's config.c. */
const mostIncludes = 10;

/**
 * Finds the programs that a repository's own configuration has git run, of all its work trees, includes followed whatever
 * their conditions. No git is started. What the user's and the system's configuration name is not among them.
 *
 * @throws {InvalidGitConfig} if git could not read it either
 */
export function ownPrograms(location: RepositoryLocation, env: GitEnvironment): OwnProgram[] {
  const { commonDir } = location;
  const own = readRepositoryVariables(location);
  const isPerWorkTree = own.some(({ name }) => name === 'extensions.worktreeconfig');
  const folders = isPerWorkTree ? [commonDir, ...linkedWorkTrees(location).map(({ gitDir }) => gitDir)] : [];
  // Where a file lies matters to what it includes alone.
  const configured: Placed[] = [
    ...placed(
      own.filter(({ scope }) => scope === 'local'),
      commonDir,
    ),
    ...placed(
      own.filter(({ scope }) => scope === 'worktree'),
      location.gitDir,
    ),
    ...folders.flatMap((gitDir) =>
      placed(
        readRepositoryVariables({ ...location, gitDir }).filter(({ scope }) => scope === 'worktree'),
        gitDir,
      ),
    ),
  ];
  const all = configured.flatMap((variable) => included(variable, env, mostIncludes));
  const found = [...all.flatMap(programIn), ...remotesInside(all, location)];
  return [...new Map(found.map((one) => [`${one.name}\n${one.value}`, one])).values()];
}

/** The same, where one of them at least runs for a use; else none. */
export function ownProgramsFor(wanted: GitUse, location: RepositoryLocation, env: GitEnvironment): OwnProgram[] {
  const programs = ownPrograms(location, env);
  return programs.some(({ use }) => use === wanted || use === 'both') ? programs : [];
}

/** A variable with the folder of the file that sets it. */
type Placed = GitVariable & { folder: string };

function placed(variables: readonly GitVariable[], folder: string): Placed[] {
  return variables.map((variable) => ({ ...variable, folder }));
}

/** A variable, or all that the file says that it includes; itself where that file cannot be read as git does. */
function included(variable: Placed, env: GitEnvironment, depth: number): Placed[] {
  const { name, value, folder, scope } = variable;
  if (!including.test(name) || !value) return [variable];
  const path = value.startsWith('~/') && env['HOME'] ? join(env['HOME'], value.slice(2)) : value;
  if (depth === 0 || path.startsWith('~') || path.startsWith('%(')) return [variable];
  const file = isAbsolute(path) ? path : resolve(folder, path);
  try {
    const variables = asVariables(scope, parseConfig(readIfThere(file) ?? '', file));
    return placed(variables, dirname(file)).flatMap((one) => included(one, env, depth - 1));
  } catch (error) {
    if (!(error instanceof UwfError) && errnoOf(error) === undefined) throw error;
    return [variable];
  }
}

function programIn({ name, value }: GitVariable): OwnProgram[] {
  // An empty one takes back what was set before.
  if (!value) return [];
  if (including.test(name)) return [{ name, value, use: 'both' }];
  return (['remote', 'files'] as const).flatMap((use) => (programs[use].test(name) ? [{ name, value, use }] : []));
}

/** Remotes that lie in the repository itself: git runs the hooks there. */
function remotesInside(variables: readonly GitVariable[], location: RepositoryLocation): OwnProgram[] {
  const tops = [location.workTree, location.commonDir].flatMap((top) => (top === undefined ? [] : realPath(top)));
  return remotesIn(variables).flatMap((remote) =>
    (['fetch', 'push'] as const).flatMap((direction) => {
      const value = remoteUrl(variables, remote, direction);
      const path = folderPathOf(value, location);
      const folder = path && realPath(path);
      const isInside =
        folder && existsSync(folder) && tops.some((top) => folder === top || folder.startsWith(`${top}/`));
      return isInside ? [{ name: `remote.${remote}.url`, value, use: 'remote' as const, folder }] : [];
    }),
  );
}
