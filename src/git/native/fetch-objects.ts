import type { GitEnvironment } from '../git-directory.ts';
import type { ObjectId } from '../object-id.ts';
import type { RepositoryLocation } from '../repository.ts';
import { runGit } from './run-git.ts';

/** Where objects that a remote has promised come from, and where they go. */
export type ObjectSource = { location: RepositoryLocation; env: GitEnvironment; promisor: string };

/**
 * Fetches objects by their ids, in one connection, and nothing that they lead to.
 *
 * As git does for those that it misses itself.
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: `fetch_objects` in git's promisor-remote.c.
 */
export async function fetchObjects({ location, env, promisor }: ObjectSource, ids: readonly ObjectId[]): Promise<void> {
  await runGit({
    location,
    env,
    args: [
      ...['-c', 'fetch.negotiationAlgorithm=noop', 'fetch', '--quiet', promisor],
      ...[
        '--no-tags',
        '--no-write-fetch-head',
        '--recurse-submodules=no',
        '--no-auto-maintenance',
        '--filter=blob:none',
      ],
      '--stdin',
    ],
    input: ids.map((id) => `${id}\n`).join(''),
  });
}
