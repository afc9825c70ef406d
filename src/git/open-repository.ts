import { openDiskStores } from './disk/open-disk-stores.ts';
import type { DiskStores } from './disk/open-disk-stores.ts';
import { discoverRepository } from './discover.ts';
import { absoluteGitEnvironment } from './git-directory.ts';
import type { GitEnvironment } from './git-directory.ts';
import { FALLBACK_COMMITTER } from './identity.ts';
import { readRepositoryConfig } from './repository-config.ts';
import { readRepositoryFormat } from './repository-format.ts';
import { rememberSharing } from './sharing.ts';
import type { Identity, Repository } from './repository.ts';

/** What a repository is told when it is opened; the library finds none of it out by itself. */
export type OpenOptions = {
  /** Where git's variables (`GIT_DIR` …) are looked up; default: none are set. */
  env?: GitEnvironment;
  /** Default: {@link FALLBACK_COMMITTER}. The user's own is found by `committerFromGit`. */
  committer?: Identity;
  /** The time in ms since 1970; default: the machine's clock. */
  now?: () => number;
  /** How long another one's lock on a ref is waited for. */
  lockTimeoutMs?: number;
};

/**
 * Opens the repository that git would work on in `dir`. Nothing is written, and nothing read but configuration.
 *
 * An ordinary one is served by uwf's own stores alone. What those do not speak (SHA-256, reftable) goes through the git at
 * hand, and so does what a partial clone has not fetched yet.
 * @throws {RepositoryNotFound} if there is none
 * @throws {UnsupportedRepository} if its format is spoken neither by uwf nor by the git at hand
 * @throws {InvalidGitConfig} if its configuration cannot be read
 */
export async function openRepository(dir: string, options: OpenOptions = {}): Promise<Repository> {
  const env = options.env ?? {};
  const now = options.now ?? Date.now;
  const location = discoverRepository(dir, env);
  const config = readRepositoryConfig(location.gitDir, location.commonDir);
  rememberSharing([location.commonDir, location.gitDir], config.all, config.path);
  const format = readRepositoryFormat(config.shared, location.commonDir);
  const isOrdinary = format.objects === 'sha1' && format.refs === 'files' && format.promisors.length === 0;
  const storeOptions = {
    env: absoluteGitEnvironment(env, dir),
    ...(options.lockTimeoutMs === undefined ? {} : { lockTimeoutMs: options.lockTimeoutMs }),
  };
  const stores: DiskStores = isOrdinary
    ? openDiskStores(location, storeOptions)
    : await (await import('./native/open-stores-by-format.ts')).openStoresByFormat(location, format, storeOptions);
  return {
    objects: stores.objects,
    refs: stores.refs,
    location,
    stateDir: `${location.commonDir}/uwf`,
    committer: options.committer ?? FALLBACK_COMMITTER,
    now,
    close: () => stores.close(),
  };
}
