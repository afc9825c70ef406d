import type { GitEnvironment } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';
import { runGit } from './run-git.ts';

/**
 * Puts the refs of a repository into one file, as git does itself now and then: a thousand of them, each in a file of its
 * own, make every listing slow. Others read and change refs meanwhile.
 *
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-pack-refs(1).
 */
export async function packRefs(location: RepositoryLocation, env: GitEnvironment): Promise<void> {
  await runGit({ location, env, args: ['pack-refs', '--all'] });
}
