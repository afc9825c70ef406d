import { openDiskStores } from '../disk/open-disk-stores.ts';
import type { DiskStores } from '../disk/open-disk-stores.ts';
import type { GitEnvironment } from '../git-directory.ts';
import type { ObjectId } from '../object-id.ts';
import { assertOrdinaryFormat } from '../repository-format.ts';
import type { RepositoryFormat } from '../repository-format.ts';
import type { RepositoryLocation } from '../repository.ts';
import { bringPromised } from './bring-promised.ts';
import { listGitVariables, type GitVariable } from './git-variables.ts';
import { openNativeStores } from './open-native-stores.ts';
import { PromisedObjectStore } from './promised-object-store.ts';
import { GitFailed, GitNotFound, runGit } from './run-git.ts';

export type FormatStoreOptions = { env: GitEnvironment; lockTimeoutMs?: number };

/**
 * Opens the stores of a repository that is not ordinary, each half as near to uwf's own as its format allows.
 *
 * Objects of SHA-256 and refs in a reftable come from git; SHA-1 objects and ref files, of either hash, from disk. Where
 * objects are promised by a remote, those that are not here are fetched.
 * @throws {UnsupportedRepository} if there is no git that speaks the format
 */
export async function openStoresByFormat(
  location: RepositoryLocation,
  format: RepositoryFormat,
  options: FormatStoreOptions,
): Promise<DiskStores> {
  const disk = openDiskStores(location, options);
  const native = openNativeStores(location, { ...options, format: format.objects });
  const isOnDisk = format.objects === 'sha1' && format.refs === 'files';
  // What is on the disk can be read without git, in a partial clone too.
  if (!isOnDisk) await assertSpokenByGit(location, format, options.env);
  const near = format.objects === 'sha1' ? disk.objects : native.objects;
  const [promisor] = format.promisors;
  const { env } = options;
  const stateDir = `${location.commonDir}/uwf`;
  const listVariables = (): Promise<GitVariable[]> => listGitVariables(location, env);
  const bring = (ids: readonly ObjectId[]): Promise<void> =>
    bringPromised({ location, env, stateDir, format: format.objects, listVariables }, promisor ?? '', ids);
  return {
    objects: promisor === undefined ? near : new PromisedObjectStore(near, native.objects, bring),
    refs: format.refs === 'files' ? disk.refs : native.refs,
    close: async () => {
      await Promise.all([disk.close(), native.close()]);
    },
  };
}

async function assertSpokenByGit(
  location: RepositoryLocation,
  format: RepositoryFormat,
  env: GitEnvironment,
): Promise<void> {
  try {
    await runGit({ location, env, args: ['rev-parse', '--git-dir'] });
  } catch (error) {
    if (!(error instanceof GitNotFound) && !(error instanceof GitFailed)) throw error;
    assertOrdinaryFormat(format, location.commonDir, `have a git on the PATH that knows it (${error.message})`);
    throw error;
  }
}
