import type { ObjectId } from '../object-id.ts';
import { runGit, type GitRun } from './run-git.ts';
import { towardsRemote } from './towards-remote.ts';

const settings = ['fetch.negotiationAlgorithm=noop', 'protocol.version=2', 'fetch.unpackLimit=1', 'gc.auto=0'];
const options = [
  '--quiet',
  '--progress',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
];

/**
 * Fetches objects by their ids, in one connection, and of what they lead to no contents.
 *
 * As git does for those that it misses itself.
 * @throws {GitFailed} {GitNotFound} as `runGit`; if the remote lacks one of them, none comes
 * Source: `fetch_objects` in git's promisor-remote.c.
 */
export async function fetchObjects(
  run: Omit<GitRun, 'args' | 'input'>,
  remote: string,
  ids: readonly ObjectId[],
): Promise<void> {
  if (ids.length === 0) return;
  const args = [
    ...settings.flatMap((setting) => ['-c', setting]),
    'fetch',
    ...options,
    '--refmap=',
    '--filter=blob:none',
  ];
  const input = ids.map((id) => `${id}\n`).join('');
  await runGit({
    ...run,
    ...towardsRemote(run.mayAsk ?? false),
    args: [...args, '--stdin', '--', remote],
    input,
  });
}
