import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { InvalidGitConfig } from '../format/config.ts';
import { GitFailed, GitNotFound } from '../process/run-git.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { realPath, RepositoryNotFound } from './git-directory.ts';
import { unsupportedRepository } from './repository-config.ts';

export type DiscoverOptions = {
  /** Whether the caller named the folder as the repository, which allows a bare one under `safe.bareRepository=explicit`. */
  isNamed?: boolean;
};

/** git waits for ever where something that is no file is in a git folder. */
const MAX_MS = 10_000;
/** A flag that git does not know, which it prints as it is. A path may have more than one line. */
const BETWEEN = '--and';

/**
 * Asks git for the repository in a folder. Its errors are those of `discoverRepository`.
 * @param options.foreign a file of another user, for which `safe.directory` has to allow the repository though git does not look at
 *   the file
 * Source: git-rev-parse(1); `GIT_TEST_ASSUME_DIFFERENT_OWNER` in git's setup.c.
 */
export async function askGit(
  folder: string,
  env: GitEnvironment,
  { isNamed = false, foreign }: DiscoverOptions & { foreign?: string },
): Promise<RepositoryLocation> {
  const settings = isNamed ? ['-c', 'safe.bareRepository=all'] : [];
  const wanted = ['--path-format=absolute', '--git-dir', BETWEEN, '--git-common-dir', BETWEEN, '--show-toplevel'];
  const differing = foreign === undefined ? {} : { GIT_DIR: undefined, GIT_TEST_ASSUME_DIFFERENT_OWNER: '1' };
  const options = { cwd: folder, env: { ...env, ...differing, LC_ALL: 'C' }, timeout: MAX_MS };
  const printed = await new Promise<string>((found, failed) => {
    execFile('git', [...settings, 'rev-parse', ...wanted], options, (error, out, said) => {
      // There is no top in a bare repository and in a git folder, which git says last.
      if (error === null || /must be run in a work tree/.test(said)) found(out);
      else if (error.code === 'ENOENT') failed(new GitNotFound(error));
      else if (error.killed === true)
        failed(new GitFailed(['rev-parse'], `it gave no answer in ${MAX_MS / 1000} s about ${folder}`));
      else failed(refusal(said, folder, env, foreign));
    });
  });
  const [gitDir = '', commonDir = '', top = ''] = printed.split(`\n${BETWEEN}\n`);
  const workTree = top === '' ? undefined : realPath(top.slice(0, -1));
  return { gitDir: realPath(gitDir), commonDir: realPath(commonDir), workTree };
}

/** What git says when it refuses a repository. Source: git's setup.c and config.c. */
function refusal(said: string, folder: string, env: GitEnvironment, ofOther?: string): UwfError {
  const named = (pattern: RegExp): string | undefined => pattern.exec(said)?.[1];
  const path = named(/dubious ownership in repository at '(.+?)'$/ms);
  if (path !== undefined) {
    const foreign = ofOther ?? path;
    return new UwfError(`detected dubious ownership in repository at '${path}': ${foreign} belongs to another user`, {
      code: 'dubious-ownership',
      kind: 'environment',
      hint: `to add an exception for this directory, call: ${named(/^\s*(git config .*safe\.directory .+)$/ms)?.trimEnd()}`,
      facts: { path, foreign },
    });
  }
  const bare = named(/cannot use bare repository '(.+?)' \(safe\.bareRepository/s);
  if (bare !== undefined) {
    return new UwfError(`cannot use bare repository '${bare}' (safe.bareRepository is 'explicit')`, {
      code: 'bare-repository-refused',
      kind: 'environment',
      hint: 'if it is the one that is meant, name it with the environment variable GIT_DIR',
      facts: { path: bare },
    });
  }
  const config = /bad config line (\d+) in (?:file )?(.+)$/m.exec(said);
  if (config !== null)
    return new InvalidGitConfig(resolve(folder, config[2] ?? ''), Number(config[1]), 'git cannot read it');
  const feature = named(/(expected git repo version .+|unknown repository extensions? found:\s+.+)$/m);
  if (feature !== undefined) return unsupportedRepository(folder, feature.replace(/\s+/g, ' '), 'install a newer git');
  const gitFile = named(/invalid gitfile format: (.+)$/m);
  if (gitFile !== undefined) return new RepositoryNotFound(gitFile, "the file does not start with 'gitdir: '");
  const target = named(/not a git repository: '?(.+?)'?$/m);
  if (env['GIT_DIR'] !== undefined) return new RepositoryNotFound(resolve(folder, env['GIT_DIR']), 'GIT_DIR names it');
  if (target !== undefined) return new RepositoryNotFound(folder, `it leads to ${target}, where no repository is`);
  if (said.includes('not a git repository')) return new RepositoryNotFound(folder);
  return new GitFailed(['rev-parse'], said);
}
