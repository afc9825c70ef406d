import { existsSync } from 'node:fs';
import { openDiskStores } from './disk/open-disk-stores.ts';
import type { DiskStores } from './disk/open-disk-stores.ts';
import { discoverRepository, topOf, type DiscoverOptions } from './discover.ts';
import { absoluteGitEnvironment } from './git-directory.ts';
import type { GitEnvironment } from './git-directory.ts';
import { FALLBACK_COMMITTER } from './identity.ts';
import { isOwn } from './ownership.ts';
import { readRepositoryConfig } from './repository-config.ts';
import { readRepositoryFormat } from './repository-format.ts';
import { rememberSharing } from './sharing.ts';
import { assertNoLinks } from './state-folder.ts';
import { isMadeForThread, mainWorkTree } from './thread-work-tree.ts';
import type { Identity, Repository, RepositoryLocation } from './repository.ts';

/** What a repository is told when it is opened; the library finds none of it out by itself. */
export type OpenOptions = DiscoverOptions & {
  /** Where git's variables (`GIT_DIR`, `HOME`, `PATH` …) are looked up; default: none are set. */
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
 * @throws {DubiousOwnership} {BareRepositoryRefused} if git would not work on it, or its configuration is of another user
 * @throws {LinkedStateFolder} if uwf's folder in the git folder leads elsewhere
 * @throws {UnsupportedRepository} if its format is spoken neither by uwf nor by the git at hand
 * @throws {InvalidGitConfig} if its configuration cannot be read
 */
export async function openRepository(dir: string, options: OpenOptions = {}): Promise<Repository> {
  const env = options.env ?? {};
  const now = options.now ?? Date.now;
  const location = await discoverRepository(dir, env, options);
  await assertOwnConfiguration(dir, location, options);
  const stateDir = `${location.commonDir}/uwf`;
  assertNoLinks(stateDir);
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
    stateDir,
    committer: options.committer ?? FALLBACK_COMMITTER,
    now,
    close: () => stores.close(),
  };
}

/** What is executed here is said by the files of uwf's configuration: they have to belong to this user, as the repository. */
async function assertOwnConfiguration(
  dir: string,
  location: RepositoryLocation,
  { env = {}, isNamed = false }: OpenOptions,
): Promise<void> {
  const { commonDir, workTree } = location;
  const root = isMadeForThread(location) ? mainWorkTree(location) : workTree;
  const files = [`${commonDir}/uwf/config.yaml`, ...(root === undefined ? [] : [`${root}/.uwf/config.yaml`])];
  const foreign = files.find((file) => existsSync(file) && !isOwn(file, env));
  if (foreign === undefined) return;
  const { assertSafe } = await import('./native/assert-safe.ts');
  // Where variables or the caller name the repository, git may find another one in the folder, or none.
  const isFound = env['GIT_DIR'] === undefined && !isNamed;
  const place = isFound ? (workTree ?? location.gitDir) : topOf(location.gitDir);
  await assertSafe({ folder: isFound ? dir : place, path: place, foreign, isImplicitlyBare: false }, env);
}
