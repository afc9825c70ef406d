import { runGit } from './run-git.ts';
import type { GitPlace } from './spawn-git.ts';

/** A version as major and minor number: `[2, 38]`. */
type GitVersion = readonly [major: number, minor: number];

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
