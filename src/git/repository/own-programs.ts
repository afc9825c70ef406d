import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { parseGitConfig } from '../format/config.ts';
import { readIfThere, realPath } from './git-directory.ts';
import { linkedWorkTrees } from './work-trees.ts';
import { errnoOf } from '../format/object-errors.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { folderPathOf, remotesIn, remoteUrl } from './choose-remote.ts';
import type { GitVariable } from '../process/git-variables.ts';
import { userVariable } from './known-variables.ts';
import { asVariables, readRepositoryVariables } from './repository-config.ts';

/** The use of git: to reach a remote, to read and write the files of a work tree, to merge, or to sign commits. */
export type GitUse = 'remote' | 'files' | 'merge' | 'sign';

/** A variable of a repository's own configuration that makes git run a program. */
export type OwnProgram = {
  name: string;
  value: string;
  use: GitUse | 'both';
  /** The folder of a remote inside the repository, whose hooks git would run. */
  folder?: string;
};

const programs: Record<GitUse, RegExp> = {
  remote:
    /^(?:remote\..*\.(?:uploadpack|receivepack|vcs)|core\.(?:sshcommand|askpass|gitproxy)|credential\.(?:.*\.)?helper)$/s,
  // A user's own configuration can have the filter of git-lfs, which runs these, in any case. Source: git-lfs-config(5).
  files:
    /^(?:filter\..*\.(?:clean|smudge|process)|lfs\.extension\..*\.(?:clean|smudge)|lfs\.customtransfer\..*\.path)$/is,
  merge: /^merge\..*\.driver$/s,
  sign: /^gpg\.(?:.*\.)?(?:program|defaultkeycommand)$/s,
};
const including = /^include(?:if\..*)?\.path$/s;
/** Source: `MAX_INCLUDE_DEPTH` in git's config.c. */
const MAX_INCLUDES = 10;

/**
 * Finds the programs that a repository's own configuration makes git run, in all its work trees. Follows includes, whatever
 * their conditions. Starts no git. Leaves out the programs of the user's and the system's configuration.
 *
 * @throws {InvalidGitConfig} if git could not read it either
 */
export function ownPrograms(location: RepositoryLocation, env: GitEnvironment): OwnProgram[] {
  const { commonDir } = location;
  const own = readRepositoryVariables(location);
  const isPerWorkTree = own.some(({ name }) => name === 'extensions.worktreeconfig');
  const folders = isPerWorkTree ? [commonDir, ...linkedWorkTrees(location).map(({ gitDir }) => gitDir)] : [];
  // The folder of a file matters only for its includes.
  const configured: Placed[] = [
    ...own.map((variable) => ({ ...variable, folder: variable.scope === 'local' ? commonDir : location.gitDir })),
    ...folders.flatMap((gitDir) =>
      placed(readRepositoryVariables({ ...location, gitDir }), gitDir).filter(({ scope }) => scope === 'worktree'),
    ),
  ];
  const all = configured.flatMap((variable) => included(variable, env, MAX_INCLUDES));
  const found = [...all.flatMap(programIn), ...remotesInside(all, location)];
  return [...new Map(found.map((one) => [`${one.name}\n${one.value}`, one])).values()];
}

/** Returns all programs if at least one of them runs for this use; else none. */
export function ownProgramsFor(wanted: GitUse, location: RepositoryLocation, env: GitEnvironment): OwnProgram[] {
  const programs = ownPrograms(location, env);
  const runs = ({ use }: OwnProgram): boolean =>
    use === wanted || use === 'both' || (wanted === 'files' && use === 'remote' && hasUsersLfs(env));
  return programs.some(runs) ? programs : [];
}

/** Tells whether the user's own configuration has git-lfs, which reaches the remote when files are read or written. */
function hasUsersLfs(env: GitEnvironment): boolean {
  return ['process', 'smudge'].some((key) => userVariable(`filter.lfs.${key}`, env) !== undefined);
}

/** A variable with the folder of the file that sets it. */
type Placed = GitVariable & { folder: string };

function placed(variables: readonly GitVariable[], folder: string): Placed[] {
  return variables.map((variable) => ({ ...variable, folder }));
}

/** Expands an include into the variables of its file. Returns the include itself if the file cannot be read. */
function included(variable: Placed, env: GitEnvironment, depth: number): Placed[] {
  const { name, value, folder, scope } = variable;
  if (!including.test(name) || !value) return [variable];
  const path = value.startsWith('~/') && env['HOME'] ? join(env['HOME'], value.slice(2)) : value;
  if (depth === 0 || path.startsWith('~') || path.startsWith('%(')) return [variable];
  const file = isAbsolute(path) ? path : resolve(folder, path);
  try {
    const variables = asVariables(scope, parseGitConfig(readIfThere(file) ?? '', file));
    return placed(variables, dirname(file)).flatMap((one) => included(one, env, depth - 1));
  } catch (error) {
    if (!(error instanceof UwfError) && errnoOf(error) === undefined) throw error;
    return [variable];
  }
}

function programIn({ name, value }: GitVariable): OwnProgram[] {
  // An empty value cancels an earlier one.
  if (!value) return [];
  if (including.test(name)) return [{ name, value, use: 'both' }];
  return (['remote', 'files', 'merge', 'sign'] as const).flatMap((use) =>
    programs[use].test(name) ? [{ name, value, use }] : [],
  );
}

/** Finds remotes inside the repository, where git runs hooks. */
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
