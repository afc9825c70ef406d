import type { ObjectId } from '../format/object-id.ts';
import { runGit, type GitRun } from '../process/run-git.ts';
import { isOfRepository, type GitVariable } from '../process/git-variables.ts';
import { removeKeeps } from '../stores/quarantine.ts';
import { GuestFolder, type GuestOf } from './guest-folder.ts';
import { towardsRemote } from './towards-remote.ts';

const settings = ['fetch.negotiationAlgorithm=noop', 'protocol.version=2', 'fetch.unpackLimit=1', 'gc.auto=0'];
const options = [
  '--quiet',
  '--progress',
  '--no-tags',
  '--no-write-fetch-head',
  '--no-recurse-submodules',
  '--no-auto-maintenance',
  '--refmap=',
  '--filter=blob:none',
  '--stdin',
];

/**
 * Fetches objects by their ids, in one connection, without the blobs that they refer to.
 *
 * As git does for missing objects of a partial clone.
 * @throws {GitFailed} {GitNotFound} as `runGit`; if the remote lacks one of them, none is fetched
 * Source: `fetch_objects` in git's promisor-remote.c.
 */
export async function fetchObjects(
  run: Omit<GitRun, 'args' | 'input'>,
  remote: string,
  ids: readonly ObjectId[],
): Promise<void> {
  if (ids.length === 0) return;
  const args = ['fetch', ...options, '--', remote];
  const input = ids.map((id) => `${id}\n`).join('');
  await runGit({ ...run, ...towardsRemote(run.mayAsk ?? false), settings, args, input });
}

/**
 * The variables of the repository's own configuration that apply when a missing object is fetched: where the remote is, and
 * headers. Reading an object must not run a program that a repository names, or write files.
 */
const reading = /^remote\..*\.(?:url|promisor)$|^url\..*\.insteadof$|^http\.(?:.*\.)?(?:extraheader|proxy|sslcainfo)$/;

/**
 * Fetches promised objects of a partial clone into the repository, without the blobs that they refer to.
 *
 * git fetches them into a quarantine, over the transports that it allows by default or that the user's configuration allows.
 * @param remote its name in git's configuration
 * @throws {GitFailed} {GitNotFound} as `fetchObjects`; {StorageFull} / {StorageReadOnly}
 */
export async function bringPromised(host: GuestOf, remote: string, ids: readonly ObjectId[]): Promise<void> {
  const listVariables = async (): Promise<GitVariable[]> =>
    (await host.listVariables()).filter((variable) => !isOfRepository(variable) || reading.test(variable.name));
  const folder = await GuestFolder.create({ ...host, listVariables }, []);
  try {
    await fetchObjects(folder.run([]), remote, ids);
    removeKeeps(folder.takeOver());
  } finally {
    folder.remove();
  }
}
