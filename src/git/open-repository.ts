import { existsSync } from 'node:fs';
import { UwfError } from '../errors.ts';
import type { GitEnvironment, Identity, Repository, RepositoryLocation } from './repository.ts';
import type { DiscoverOptions } from './repository/ask-git.ts';
import { discoverWithConfig, isOwn, topOf } from './repository/discover.ts';
import { absoluteGitEnvironment } from './repository/git-directory.ts';
import { FALLBACK_COMMITTER, readRepositoryFormat } from './repository/repository-config.ts';
import { isMadeForThread, mainWorkTree } from './repository/work-trees.ts';
import { openDiskStores } from './stores/disk/open-disk-stores.ts';
import { assertNoLinks, rememberSharing } from './system/files.ts';

/** Facts that callers hand to the library, which does not look for them. */
export type OpenOptions = DiscoverOptions & {
  /** Where git's variables (`GIT_DIR`, `HOME`, `PATH` …) are looked up; default: none are set. */
  env?: GitEnvironment;
  /** Default: `uwf <uwf@localhost>`. The user's own is found by {@link committerFromGit}. */
  committer?: Identity;
  /** The time in ms since 1970; default: the machine's clock. */
  now?: () => number;
  /** How long to wait for a lock of another process on a ref. */
  lockTimeoutMs?: number;
};

/**
 * Opens the repository that git would work on in `dir`. Writes nothing, and reads only configuration.
 *
 * It is served by uwf's own stores, but for refs in a reftable, which only git reads.
 * @throws {RepositoryNotFound} if there is none
 * @throws {UwfError} `dubious-ownership` if it, or its configuration, belongs to another user and `safe.directory` does not name it
 * @throws {UwfError} `bare-repository-refused` if it is bare and `safe.bareRepository` refuses it
 * @throws {LinkedStateFolder} if uwf's folder in the git folder leads elsewhere
 * @throws {UwfError} `unsupported-repository` if neither uwf nor the installed git supports its format
 * @throws {InvalidGitConfig} if its configuration cannot be read
 */
export async function openRepository(dir: string, options: OpenOptions = {}): Promise<Repository> {
  const env = options.env ?? {};
  const now = checkedClock(options.now ?? Date.now);
  const { location, config } = await discoverWithConfig(dir, env, options);
  await assertOwnConfiguration(dir, location, options);
  const stateDir = `${location.commonDir}/uwf`;
  assertNoLinks(stateDir);
  rememberSharing([location.commonDir, location.gitDir], config.all, config.path);
  const format = readRepositoryFormat(config.shared, location.commonDir);
  const storeOptions = {
    env: absoluteGitEnvironment(env, dir),
    ...(options.lockTimeoutMs === undefined ? {} : { lockTimeoutMs: options.lockTimeoutMs }),
  };
  const disk = openDiskStores(location, storeOptions, format.objects);
  const stores =
    format.refs === 'files'
      ? disk
      : await (
          await import('./stores/native/native-ref-store.ts')
        ).withNativeRefs(disk, location, format, storeOptions);
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

/** The files of uwf's configuration name programs, so they have to belong to this user, as the repository. */
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
  const { askGit } = await import('./repository/ask-git.ts');
  // If variables or the caller name the repository, git may find another one in the folder, or none.
  const isFound = env['GIT_DIR'] === undefined && !isNamed;
  await askGit(isFound ? dir : topOf(location.gitDir), env, { isNamed: true, foreign });
}

/** The end of the year 9999: refs of ended threads name the day with four digits of the year. */
const MAX_CLOCK_MS = Date.UTC(10_000, 0, 1) - 1;

/** The clock of this machine shows a time at which no commit and no thread can be made. Nothing was stored. */
class ClockOutOfRange extends UwfError {
  constructor(nowMs: number) {
    super(`the clock of this machine is not between the years 1970 and 9999: it shows ${nowMs} ms since 1970`, {
      code: 'clock-out-of-range',
      kind: 'environment',
      hint: 'set the clock, and repeat',
      facts: { nowMs },
    });
  }
}

/** A clock that gives only times which git and the names of refs can hold. @throws {ClockOutOfRange} when it is read, for any other */
export function checkedClock(now: () => number): () => number {
  return () => {
    const nowMs = now();
    if (nowMs >= 0 && nowMs <= MAX_CLOCK_MS) return nowMs;
    throw new ClockOutOfRange(nowMs);
  };
}
