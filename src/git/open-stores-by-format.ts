import type { GitPlace } from './process/spawn-git.ts';
import { openDiskStores } from './stores/disk/open-disk-stores.ts';
import type { DiskStores } from './stores/disk/open-disk-stores.ts';
import type { ObjectId } from './format/object-id.ts';
import { assertOrdinaryFormat } from './repository/repository-format.ts';
import type { RepositoryFormat } from './repository/repository-format.ts';
import type { GitEnvironment, RepositoryLocation } from './repository.ts';
import { bringPromised } from './transport/fetch-objects.ts';
import { listGitVariables, type GitVariable } from './process/git-variables.ts';
import { NativeObjectStore } from './stores/native/native-object-store.ts';
import { NativeRefStore } from './stores/native/native-ref-store.ts';
import { promisedObjects } from './stores/native/promised-objects.ts';
import { GitFailed, GitNotFound, runGit } from './process/run-git.ts';

export type FormatStoreOptions = { env: GitEnvironment; lockTimeoutMs?: number };

/**
 * Opens the stores of a repository in a special format; each half is uwf's own if the format allows it.
 *
 * git serves objects of SHA-256 and refs in a reftable; SHA-1 objects, and ref files with either hash, are read from disk.
 * The missing objects of a partial clone are fetched.
 * @throws {UwfError} `unsupported-repository` if there is no git that supports the format
 */
export async function openStoresByFormat(
  location: RepositoryLocation,
  format: RepositoryFormat,
  options: FormatStoreOptions,
): Promise<DiskStores> {
  const disk = openDiskStores(location, options);
  const { env } = options;
  const nativeObjects = new NativeObjectStore(location, env, format.objects);
  const nativeRefs = new NativeRefStore({ location, env }, format.objects, options.lockTimeoutMs);
  const isOnDisk = format.objects === 'sha1' && format.refs === 'files';
  // Objects on the disk can be read without git, in a partial clone too.
  if (!isOnDisk) await assertSupportedByGit({ location, env }, format);
  const near = format.objects === 'sha1' ? disk.objects : nativeObjects;
  const [promisor] = format.promisors;
  const stateDir = `${location.commonDir}/uwf`;
  const listVariables = (): Promise<GitVariable[]> => listGitVariables({ location, env });
  const bring = (ids: readonly ObjectId[]): Promise<void> =>
    bringPromised({ location, env, stateDir, format: format.objects, listVariables }, promisor ?? '', ids);
  return {
    objects: promisor === undefined ? near : promisedObjects(near, nativeObjects, bring),
    refs: format.refs === 'files' ? disk.refs : nativeRefs,
    close: async () => {
      await Promise.all([disk.close(), nativeObjects.close(), nativeRefs.close()]);
    },
  };
}

async function assertSupportedByGit(git: GitPlace, format: RepositoryFormat): Promise<void> {
  try {
    await runGit({ ...git, args: ['rev-parse', '--git-dir'] });
  } catch (error) {
    if (!(error instanceof GitNotFound) && !(error instanceof GitFailed)) throw error;
    assertOrdinaryFormat(format, git.location.commonDir, `have a git on the PATH that knows it (${error.message})`);
    throw error;
  }
}
