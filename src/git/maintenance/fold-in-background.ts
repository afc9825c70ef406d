import { rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isNumber, isString, objectOf } from '../../shape.ts';
import { derivedContent, readDerivedJson } from '../system/derived-file.ts';
import { readIfThere } from '../repository/git-directory.ts';
import { formatIdentity, identityOf, isAlive, ownIdentity, parseIdentity } from '../system/process-identity.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import { foldSmallPacks } from './consolidate-packs.ts';
import { countSmallPacks } from './foldable-packs.ts';
import { makeFolders } from '../system/make-folders.ts';
import { share } from '../system/sharing.ts';
import { orElse } from '../../or-else.ts';

/** From this number on, small packs are repacked: each costs every start of git some 15 µs, of 2 ms. */
const MAX_SMALL_PACKS = 10;

/** A process on another machine cannot be checked, and no repacking takes this long. */
const MAX_FOLDING_MS = 60 * 60 * 1000;

/** How long git believes a `gc.pid`. Source: `lock_repo_for_gc` in builtin/gc.c. */
const MAX_GC_MS = 12 * 60 * 60 * 1000;

/** The last repacking: its process, its start, and how many small packs it left (absent until it has ended). */
type Folding = { holder: string; atMs: number; left?: number };

const FORM = 'folding 1';
const isFolding = objectOf<Folding>({ holder: isString, atMs: isNumber, left: { mayBe: isNumber } });

/** A repacking in progress. */
export type StartedFolding = {
  /** Resolves when the repacking ends, or after `longestMs`; the repacking continues then. */
  settled(longestMs: number): Promise<void>;
};

/**
 * Starts repacking the small packs of a repository if there are many.
 *
 * git repacks in separate processes, as in `foldSmallPacks`, with a lower priority and one thread. This process removes the
 * old packs, so nothing is removed after it ends. Only one repacking runs at a time, and none beside the user's `git gc`.
 * After one that repacked nothing, the next starts when there are as many more packs. A command never fails because of it,
 * and a killed one blocks nothing; `uwf gc` reports the errors.
 * @returns the repacking, or `undefined` if none was started
 */
export function foldInBackground(
  { location, stateDir }: Pick<Repository, 'location' | 'stateDir'>,
  env: GitEnvironment,
): StartedFolding | undefined {
  if (process.platform === 'win32' || location === undefined || stateDir === undefined) return undefined;
  // An error means a full or read-only disk: a later command tries again.
  return orElse(() => {
    const packs = countSmallPacks(location);
    const record = join(stateDir, 'folding.json');
    if (packs < MAX_SMALL_PACKS || !isTimely(readDerivedJson(record, FORM, isFolding), packs) || isCollecting(location))
      return undefined;
    return start(location, env, record);
  }, undefined);
}

function isTimely(last: Folding | undefined, packs: number): boolean {
  if (last === undefined) return true;
  if (last.left !== undefined) return last.left < MAX_SMALL_PACKS || packs >= last.left + MAX_SMALL_PACKS;
  const holder = parseIdentity(last.holder);
  return holder === undefined || isAlive(holder) === false || Date.now() - last.atMs >= MAX_FOLDING_MS;
}

function isCollecting({ commonDir }: RepositoryLocation): boolean {
  const file = join(commonDir, 'gc.pid');
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || Date.now() - stats.mtimeMs > MAX_GC_MS) return false;
  const pid = Number.parseInt(readIfThere(file) ?? '', 10);
  // Without a start time only the pid is checked; a process of another machine counts as running.
  return Number.isNaN(pid) || isAlive(identityOf(pid)) !== false;
}

function start(location: RepositoryLocation, env: GitEnvironment, record: string): StartedFolding {
  const began = { holder: formatIdentity(ownIdentity()), atMs: Date.now() };
  const write = (folding: Folding, flag: string): void => {
    writeFileSync(record, derivedContent(record, FORM, `${JSON.stringify(folding)}\n`), { flag });
    share(record);
  };
  makeFolders(dirname(record));
  rmSync(record, { recursive: true, force: true });
  // Of two processes that get here one continues. If both do, because one removed the new file of the other, git repacks
  // twice, and both new packs are complete.
  write(began, 'wx');
  const ended = foldSmallPacks({ location, env, isInBackground: true })
    .catch(() => {})
    .then(() => write({ ...began, left: countSmallPacks(location) }, 'w'))
    .catch(() => {});
  return {
    async settled(longestMs) {
      const waiting = new AbortController();
      await Promise.race([ended, sleep(longestMs, undefined, { signal: waiting.signal }).catch(() => {})]);
      waiting.abort();
    },
  };
}
