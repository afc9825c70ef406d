import { UwfError } from '../../errors.ts';
import { runGit } from './run-git.ts';
import type { GitPlace } from './spawn-git.ts';

/** A version as major and minor number: `[2, 38]`. */
export type GitVersion = readonly [major: number, minor: number];

/**
 * Reads the version of the installed git: `2.39.5`; `undefined` if it tells none.
 *
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function readGitVersion(git: GitPlace): Promise<string | undefined> {
  const printed = await runGit({ ...git, args: ['--version'] });
  return /\d+\.\d+(?:\.\d+)?/.exec(printed.toString('utf8'))?.[0];
}

/** Tells whether a version as {@link readGitVersion} returns it is older than another. */
export function isOlderGit(version: string, [major, minor]: GitVersion): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number);
  return ownMajor < major || (ownMajor === major && ownMinor < minor);
}

/**
 * Reads the version of a git that has to be new enough.
 *
 * @param task what needs it, as a verb: `merge branches`
 * @throws {UwfError} `git-too-old`
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function requireGit(git: GitPlace, oldest: GitVersion, task: string): Promise<string> {
  const version = await readGitVersion(git);
  if (version !== undefined && !isOlderGit(version, oldest)) return version;
  throw new UwfError(`git is ${version ?? 'of an unknown version'}, too old to ${task}`, {
    code: 'git-too-old',
    kind: 'environment',
    hint: `install git ${oldest.join('.')} or newer`,
    facts: { version },
  });
}
