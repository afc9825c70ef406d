import { rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isNumber, isString, objectOf } from '../../shape.ts';
import { derivedContent, readDerivedJson } from '../derived-file.ts';
import { readIfThere, type GitEnvironment } from '../git-directory.ts';
import { formatIdentity, identityOf, isAlive, ownIdentity, parseIdentity } from '../process-identity.ts';
import type { RepositoryLocation } from '../repository.ts';
import { foldSmallPacks } from './consolidate-packs.ts';
import { listSmallPacks, packFolderOf } from './foldable-packs.ts';
import { makeFolders } from '../make-folders.ts';
import { share } from '../sharing.ts';

/** From so many small packs on they are folded: each costs every git that is started some 15 µs, of 2 ms. */
const mostSmallPacks = 10;

/** A pack of fewer bytes is small. What folding makes of small ones soon is not. */
const smallBytes = 1024 * 1024;

/** A holder on another machine cannot be looked at, and no folding takes that long. */
const longestMs = 60 * 60 * 1000;

/** How long git believes a `gc.pid`. Source: `lock_repo_for_gc` in builtin/gc.c. */
const longestGcMs = 12 * 60 * 60 * 1000;

/** The last folding: who does it or did it, when it began, and how many small packs it left; absent until it has ended. */
type Folding = { holder: string; atMs: number; left?: number };

const FORM = 'folding 1';
const isFolding = objectOf<Folding>({ holder: isString, atMs: isNumber, left: { mayBe: isNumber } });

/** A folding that was started. */
export type StartedFolding = {
  /** Comes to its end with the folding, or after so long if that takes longer; the folding then goes on. */
  settled(longestMs: number): Promise<void>;
};

/**
 * Starts folding the small packs of a repository if there are many.
 *
 * git does it, as in `foldSmallPacks`, in processes beside this one, with a lower priority and one thread. This process
 * removes what was folded, so that nothing goes any more when it has ended. One runs at a time; none beside the user's
 * own `git gc`; and one that folded nothing is not started again before there are as many more. What goes wrong there is
 * for whoever runs `uwf gc` to see: a command never fails because of it, and a killed one leaves nothing that blocks.
 * @param stateDir where it is recorded which process folds
 * @returns the folding, or `undefined` if none was started
 */
export function foldInBackground(
  location: RepositoryLocation,
  stateDir: string,
  env: GitEnvironment,
): StartedFolding | undefined {
  if (process.platform === 'win32') return undefined;
  try {
    const packs = countSmallPacks(location);
    const record = join(stateDir, 'folding.json');
    if (packs < mostSmallPacks || !isTimely(readDerivedJson(record, FORM, isFolding), packs) || isCollecting(location))
      return undefined;
    return start(location, env, record);
  } catch {
    // A full disk, or one that may only be read: it has to wait.
    return undefined;
  }
}

function isTimely(last: Folding | undefined, packs: number): boolean {
  if (last === undefined) return true;
  if (last.left !== undefined) return last.left < mostSmallPacks || packs >= last.left + mostSmallPacks;
  const holder = parseIdentity(last.holder);
  return holder === undefined || isAlive(holder) === false || Date.now() - last.atMs >= longestMs;
}

function isCollecting({ commonDir }: RepositoryLocation): boolean {
  const file = join(commonDir, 'gc.pid');
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || Date.now() - stats.mtimeMs > longestGcMs) return false;
  const pid = Number.parseInt(readIfThere(file) ?? '', 10);
  // Without a start time an identity says of its pid alone whether it runs; one of another machine counts as running.
  return Number.isNaN(pid) || isAlive(identityOf(pid)) !== false;
}

function countSmallPacks(location: RepositoryLocation): number {
  return listSmallPacks(packFolderOf(location), smallBytes).length;
}

function start(location: RepositoryLocation, env: GitEnvironment, record: string): StartedFolding {
  const began = { holder: formatIdentity(ownIdentity()), atMs: Date.now() };
  const write = (folding: Folding, flag: string): void => {
    writeFileSync(record, derivedContent(record, FORM, `${JSON.stringify(folding)}\n`), { flag });
    share(record);
  };
  makeFolders(dirname(record));
  rmSync(record, { recursive: true, force: true });
  // Of two that come this far one goes on. Should both, because the one removed what the other had just made, then git
  // folds twice at once, and both new packs have all that there was.
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
