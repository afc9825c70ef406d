import type { GitPlace } from './process/spawn-git.ts';
import { openDiskStores } from './stores/disk/open-disk-stores.ts';
import type { DiskStores } from './stores/disk/open-disk-stores.ts';
import { assertOrdinaryFormat } from './repository/repository-format.ts';
import type { RepositoryFormat } from './repository/repository-format.ts';
import type { GitEnvironment, RepositoryLocation } from './repository.ts';
import { NativeObjectStore } from './stores/native/native-object-store.ts';
import { NativeRefStore } from './stores/native/native-ref-store.ts';
import { GitFailed, GitNotFound, runGit } from './process/run-git.ts';

export type FormatStoreOptions = { env: GitEnvironment; lockTimeoutMs?: number };

/**
 * Opens the stores of a repository in a special format; each half is uwf's own if the format allows it.
 *
 * git serves objects of SHA-256 and refs in a reftable; SHA-1 objects, and ref files with either hash, are read from disk.
 * @throws {UwfError} `unsupported-repository` if there is no git that supports the format
 */
export async function openStoresByFormat(
  location: RepositoryLocation,
  format: RepositoryFormat,
  options: FormatStoreOptions,
): Promise<DiskStores> {
  const disk = openDiskStores(location, options, format.objects);
  const { env } = options;
  const nativeObjects = new NativeObjectStore(location, env, format.objects);
  const nativeRefs = new NativeRefStore({ location, env }, format.objects, options.lockTimeoutMs);
  await assertSupportedByGit({ location, env }, format);
  return {
    objects: format.objects === 'sha1' ? disk.objects : nativeObjects,
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
