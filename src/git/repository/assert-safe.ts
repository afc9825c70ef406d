import { execFile } from 'node:child_process';
import { UwfError } from '../../errors.ts';
import { readUserVariables } from './read-config-files.ts';
import { GitFailed } from '../process/run-git.ts';
import type { GitEnvironment } from '../repository.ts';

/** The repository belongs to another user, who would decide what git and uwf run in it. Nothing of it was read. */
function dubiousOwnership(path: string, foreign: string, why = ''): UwfError {
  return new UwfError(
    `detected dubious ownership in repository at '${path}': ${foreign} belongs to another user${why}`,
    {
      code: 'dubious-ownership',
      kind: 'environment',
      hint: `to add an exception for this directory, call: git config --global --add safe.directory ${quoted(path)}`,
      facts: { path, foreign },
    },
  );
}

/** The second form is that of git before 2.37. */
const refusal = /^fatal: (?:detected dubious ownership in|unsafe) repository (?:at |\()'(.+?)'(?:$| is owned by)/ms;

/** A repository that may only be used if git's configuration allows it. */
export type Doubt = {
  /** A folder in which git finds it. */
  folder: string;
  /** The top of its work tree, or the bare repository. */
  path: string;
  /** The path that belongs to another user; `undefined` if only {@link isImplicitlyBare} is in doubt. */
  foreign: string | undefined;
  /** Whether it is bare and was found by searching. */
  isImplicitlyBare: boolean;
};

/**
 * Asks git whether `safe.directory` and `safe.bareRepository` allow a repository, because git knows where its protected
 * configuration is and which forms of paths it accepts. git decides before it reads anything of the repository.
 *
 * @throws {UwfError} `dubious-ownership` if they do not, or if there is no way to tell
 * @throws {UwfError} `bare-repository-refused`
 * @throws {GitFailed} if git fails for another reason
 * Source: git-config(1), `safe.*`; `die_upon_dubious_ownership` in git's setup.c.
 */
export async function assertSafe(doubt: Doubt, env: GitEnvironment): Promise<void> {
  const { folder, path, foreign, isImplicitlyBare } = doubt;
  if (foreign === undefined && readUserVariables(env)?.some(({ name }) => name === 'safe.barerepository') === false) {
    return;
  }
  const settings = isImplicitlyBare ? [] : ['-c', 'safe.bareRepository=all'];
  // git checks the owner of fewer paths than uwf. This makes it apply `safe.directory` where only uwf has found another owner.
  const differing = foreign === undefined ? {} : { GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' };
  const said = await complaint(folder, settings, { ...env, ...differing });
  if (said !== undefined && /safe\.bareRepository/.test(said)) {
    throw new UwfError(`cannot use bare repository '${path}' (safe.bareRepository is 'explicit')`, {
      code: 'bare-repository-refused',
      kind: 'environment',
      hint: `if it is the one that is meant, name it: GIT_DIR=${quoted(path)} uwf ...`,
      facts: { path },
    });
  }
  if (foreign === undefined) return;
  if (said === 'ENOENT') throw dubiousOwnership(path, foreign, ', and there is no git to ask for exceptions');
  if (said !== undefined) {
    const [, named] = refusal.exec(said) ?? [];
    throw named === undefined ? new GitFailed(['rev-parse'], said) : dubiousOwnership(named, foreign);
  }
  const nothingConfigured = { HOME: '/nonexistent', GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' };
  if ((await complaint(folder, [], { PATH: env['PATH'], ...nothingConfigured, ...differing })) === undefined) {
    throw dubiousOwnership(path, foreign, ', and this git is too old to have an eye on it');
  }
}

/** The error of git about a repository; `ENOENT` if there is no git, `undefined` if there is no error. */
function complaint(folder: string, settings: readonly string[], env: GitEnvironment): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...env, GIT_DIR: undefined, LC_ALL: 'C' } };
    execFile('git', [...settings, 'rev-parse', '--git-dir'], options, (error, _printed, said) => {
      if (error === null) resolve(undefined);
      else if (typeof error.code === 'number') resolve(said);
      else resolve(error.code === 'ENOENT' ? 'ENOENT' : error.message);
    });
  });
}

/** A path as git prints it for a shell. Source: `sq_quote_buf_pretty` in git's quote.c. */
function quoted(path: string): string {
  return /^[\w+,./:=@^-]+$/.test(path) ? path : `'${path.replaceAll(/['!]/g, String.raw`'\$&'`)}'`;
}
