import type { ObjectId } from '../object-id.ts';
import { fetchObjects } from './fetch-objects.ts';
import { isOfRepository, type GitVariable } from './git-variables.ts';
import { GuestFolder, type GuestOf } from './guest-folder.ts';

/**
 * What the repository's own configuration may say of a remote that is only read on from: where it is, and what goes along.
 * No program of a repository runs, and no file is written, because an object was missing.
 */
const reading = /^remote\..*\.(?:url|promisor)$|^url\..*\.insteadof$|^http\.(?:.*\.)?(?:extraheader|proxy|sslcainfo)$/;

/**
 * Makes objects the repository's that a remote has promised it, and of what they lead to no contents.
 *
 * git fetches them beside the repository, over a transport that it allows by default or the user's configuration allows.
 * @param remote its name in git's configuration
 * @throws {GitFailed} {GitNotFound} as `fetchObjects`; {StorageFull} / {StorageReadOnly}
 */
export async function bringPromised(host: GuestOf, remote: string, ids: readonly ObjectId[]): Promise<void> {
  const listVariables = async (): Promise<GitVariable[]> =>
    (await host.listVariables()).filter((variable) => !isOfRepository(variable) || reading.test(variable.name));
  const folder = await GuestFolder.create({ ...host, listVariables }, []);
  try {
    await fetchObjects(folder.run([]), remote, ids);
    for (const keep of folder.quarantine.takeOver()) keep.remove();
  } finally {
    folder.remove();
  }
}
