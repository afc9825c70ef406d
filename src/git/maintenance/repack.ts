import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inPlaceOf, orElse, succeeds, tryTo } from '../../or-else.ts';
import { isNumber, isString, objectOf } from '../../shape.ts';
import { listGitVariables } from '../process/git-variables.ts';
import {
  durablePacks,
  GitFailed,
  GitNotFound,
  type GitPlace,
  type GitStart,
  readGitVersion,
  runGit,
  spawnGit,
} from '../process/run-git.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import { readIfThere } from '../repository/git-directory.ts';
import { contentOf, isStaleKeep, keeperOf, removeStalePackKeeps } from '../stores/disk/pack-writer.ts';
import { objectFolderOf } from '../stores/quarantine.ts';
import {
  derivedContent,
  isOlderThan,
  makeFolders,
  namesIn,
  readDerivedJson,
  removeFile,
  share,
  sizeOf,
} from '../system/files.ts';
import {
  formatIdentity,
  identityOf,
  isAlive,
  ownIdentity,
  parseIdentity,
  type ProcessIdentity,
} from '../system/process-identity.ts';

// Each step is a pack of its own. `git repack --geometric=2 -d` joins packs so that each has at least twice as many objects as
// the next smaller one: a few packs are left, and an object is packed again only as often as the repository doubles. It prunes
// nothing. A pack that is being written has a keep (stores/disk/pack-writer.ts), and git leaves such a pack alone.

/** How many packs git lets gather by default (`gc.autoPackLimit`). */
export const MAX_GATHERED = 50;

/** From this number on, small packs are repacked: each costs every start of git some 15 µs, of 2 ms. */
const MAX_SMALL_PACKS = 10;

const SMALL_BYTES = 1024 * 1024;

/** A larger pack is not repacked here: `git gc` does that. `--geometric` counts objects, and one can be a film. */
const LARGE_BYTES = 8 * 1024 * 1024;

/** A process on another machine cannot be checked, and no repacking takes this long. */
const MAX_REPACKING_MS = 60 * 60 * 1000;

/** How long git believes a `gc.pid`. Source: `lock_repo_for_gc` in builtin/gc.c. */
const MAX_GC_MS = 12 * 60 * 60 * 1000;

const settings = [
  ...durablePacks,
  // git refuses these of the user's settings together with `--geometric`, or repacks packs that have a keep.
  'repack.writeBitmaps=false',
  'repack.packKeptObjects=false',
  'repack.useDeltaIslands=false',
  'pack.packSizeLimit=0',
  // Bounds the memory, whatever small packs inflate to: large blobs get no deltas.
  'pack.threads=1',
  'pack.windowMemory=64m',
  'core.bigFileThreshold=8m',
];

/** The last repacking: its process, its start, and how many small packs it left (absent until it has ended). */
type Repacking = { holder: string; atMs: number; left?: number };

const FORM = 'folding 1';
const isRepacking = objectOf<Repacking>({ holder: isString, atMs: isNumber, left: { mayBe: isNumber } });

export type StartedRepacking = {
  /** Resolves when the repacking ends, or after `longestMs`; the repacking continues then. */
  settled(longestMs: number): Promise<void>;
};

export function countPacks(git: GitPlace): number {
  return listPacks(git).length;
}

/** Counts the small packs that a repacking would join; zero where git cannot join any. */
function countSmallPacks(git: GitPlace): number {
  const packs = listPacks(git);
  if (packs.some(({ isPromised }) => isPromised)) return 0;
  return packs.filter(({ isKept, isSmall }) => !isKept && isSmall).length;
}

/**
 * Repacks, and removes the keeps of killed writers, while others go on reading and writing.
 *
 * Does nothing beside a `git gc`, and in a partial clone, where git refuses it.
 * @returns the numbers of packs before and after
 * @throws {GitFailed} {GitNotFound} as `runGit`; no object is removed then
 */
export async function repack(git: GitPlace): Promise<{ before: number; after: number }> {
  removeStalePackKeeps(packFolderOf(git));
  const packs = listPacks(git);
  const before = packs.length;
  if (before < 2 || isCollecting(git.location) || packs.some(({ isPromised }) => isPromised))
    return { before, after: before };
  await runGit(repacking(git));
  return { before, after: countPacks(git) };
}

/**
 * Starts repacking the small packs of a repository if there are many.
 *
 * git does so in a process of its own, with a lower priority and one thread, also after this process has ended. Only one
 * repacking runs at a time, and none beside the user's `git gc`, which could miss the packs that it removes. After one that
 * joined nothing, the next starts when there are as many more packs. A command never fails because of it, and a killed one
 * blocks nothing; `uwf gc` reports the errors.
 * @returns the repacking, or `undefined` if none was started
 */
export function repackInBackground(
  { location, stateDir }: Pick<Repository, 'location' | 'stateDir'>,
  env: GitEnvironment,
): StartedRepacking | undefined {
  if (process.platform === 'win32' || location === undefined || stateDir === undefined) return undefined;
  // An error means a full or read-only disk: a later command tries again.
  return orElse(() => {
    const record = join(stateDir, 'folding.json');
    const last = readDerivedJson(record, FORM, isRepacking);
    // In this order: of a repacking that ends meanwhile, the packs that it has joined are not counted.
    if (isInProgress(last) || countSmallPacks({ location, env }) < enoughAfter(last)) return undefined;
    return isCollecting(location) ? undefined : start({ location, env }, record);
  }, undefined);
}

function isInProgress(last: Repacking | undefined): boolean {
  if (last === undefined || last.left !== undefined) return false;
  const holder = parseIdentity(last.holder);
  return holder !== undefined && isAlive(holder) !== false && Date.now() - last.atMs < MAX_REPACKING_MS;
}

function enoughAfter({ left = 0 }: Partial<Repacking> = {}): number {
  return left < MAX_SMALL_PACKS ? MAX_SMALL_PACKS : left + MAX_SMALL_PACKS;
}

function isCollecting({ commonDir }: RepositoryLocation): boolean {
  const file = join(commonDir, 'gc.pid');
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats === undefined || Date.now() - stats.mtimeMs > MAX_GC_MS) return false;
  const pid = Number.parseInt(readIfThere(file) ?? '', 10);
  // Without a start time only the pid is checked; a process of another machine counts as running.
  return Number.isNaN(pid) || isAlive(identityOf(pid)) !== false;
}

function start(git: GitPlace, record: string): StartedRepacking {
  const write = (repacking: Omit<Repacking, 'atMs'>, flag: string): void => {
    const content = JSON.stringify({ ...repacking, atMs: Date.now() });
    writeFileSync(record, derivedContent(record, FORM, `${content}\n`), { flag });
    share(record);
  };
  const own = formatIdentity(ownIdentity());
  makeFolders(dirname(record));
  rmSync(record, { recursive: true, force: true });
  // Of two processes that get here one continues. If both do, because one removed the new file of the other, git repacks
  // twice: one of them may find its packs gone, and gives up.
  write({ holder: own }, 'wx');
  const child = spawnGit({ ...repacking(git), isInBackground: true });
  child.stdout.resume();
  child.stderr.resume();
  child.stdin.on('error', () => {}).end();
  const ended = new Promise<void>((resolve) => {
    // Without a git there is only an error.
    for (const event of ['close', 'error'] as const) child.once(event, () => resolve());
  }).then(() => tryTo(() => write({ holder: own, left: countSmallPacks(git) }, 'w')));
  // This process may end before its git.
  if (child.pid !== undefined) write({ holder: formatIdentity(identityOf(child.pid)) }, 'w');
  return {
    async settled(longestMs) {
      const waiting = new AbortController();
      await Promise.race([ended, sleep(longestMs, undefined, { signal: waiting.signal }).catch(() => {})]);
      waiting.abort();
    },
  };
}

function repacking(git: GitPlace): GitStart {
  const kept = listPacks(git).flatMap(({ name, isKept }) => (isKept ? [`--keep-pack=${name}.pack`] : []));
  return { ...git, args: ['repack', '--geometric=2', '-d', '-q', '-n', ...kept], settings };
}

type Pack = {
  /** `pack-<hash>`, without an ending. */
  name: string;
  /** Whether it stays as it is. */
  isKept: boolean;
  isSmall: boolean;
  /** Whether it is of a partial clone. */
  isPromised: boolean;
};

function listPacks(git: GitPlace): Pack[] {
  const folder = packFolderOf(git);
  const names = new Set(namesIn(folder));
  // git deletes a multi-pack-index, and its bitmap, with the first pack that goes of those that it names.
  const indexedMs = statSync(join(folder, 'multi-pack-index'), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return [...names].flatMap((file) => {
    const name = /^(pack-.+)\.idx$/.exec(file)?.[1];
    if (name === undefined) return [];
    const stats = statSync(join(folder, `${name}.pack`), { throwIfNoEntry: false });
    if (stats === undefined) return [];
    const isKept =
      names.has(`${name}.keep`) ||
      // Of what nothing leads to.
      names.has(`${name}.mtimes`) ||
      stats.size > LARGE_BYTES ||
      stats.mtimeMs <= indexedMs;
    return { name, isKept, isSmall: stats.size < SMALL_BYTES, isPromised: names.has(`${name}.promisor`) };
  });
}

function packFolderOf({ location, env }: GitPlace): string {
  return join(objectFolderOf(location, env), 'pack');
}

export type Examination = {
  /** `2.39.5`; `undefined` if there is no git. */
  gitVersion: string | undefined;
  isShallow: boolean;
  packs: number;
  /** Variables about garbage collection and remotes; names in lower case except subsections. */
  config: ReadonlyMap<string, string>;
};

/** Examines a repository with at most two runs of git. Changes nothing. */
export async function examineRepository(git: GitPlace): Promise<Examination> {
  const isShallow = existsSync(join(git.location.commonDir, 'shallow'));
  const packs = countPacks(git);
  const gitVersion = await readGitVersion(git).catch(inPlaceOf(GitNotFound, undefined));
  if (gitVersion === undefined) return { gitVersion, isShallow, packs, config: new Map() };
  return { gitVersion, isShallow, packs, config: await readConfig(git) };
}

/** Reads a variable without a value as ''. */
async function readConfig(git: GitPlace): Promise<Map<string, string>> {
  // git fails for a broken configuration.
  const variables = await listGitVariables(git).catch(inPlaceOf(GitFailed, []));
  const wanted = variables.filter(({ name }) => /^(?:gc|maintenance|remote)\./.test(name));
  return new Map(wanted.map(({ name, value = '' }) => [name, value]));
}

/** A lock of git, or the keep of a pack. */
export type FoundLock = {
  path: string;
  kind: 'lock' | 'keep';
  /** The process of uwf that made it, and whether it still runs; `undefined` if git or a person made it. */
  holder: { owner: ProcessIdentity; isAlive: boolean | 'other-host' } | undefined;
  ageMs: number;
};

/** The content of a keep that git makes while it fetches or receives. Source: git-index-pack(1), `--keep`. */
const keptByGit = /^(?:fetch-pack|receive-pack) \d+ on /;

/** Finds the locks of refs, and the keeps of packs that are not made by people. Changes nothing. */
export function findLocks({ commonDir }: RepositoryLocation): FoundLock[] {
  const locks = [...locksBelow(join(commonDir, 'refs')), join(commonDir, 'packed-refs.lock')];
  const packs = join(commonDir, 'objects', 'pack');
  const keeps = namesIn(packs).filter((name) => name.endsWith('.keep'));
  return [
    ...locks.flatMap((path) => describe(path, 'lock')),
    ...keeps.flatMap((name) => {
      const path = join(packs, name);
      const owner = keeperOf(path);
      if (owner === undefined && !keptByGit.test(contentOf(path))) return [];
      return describe(path, 'keep', owner && { owner, isAlive: isAlive(owner) });
    }),
  ];
}

function locksBelow(folder: string): string[] {
  return namesIn(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return locksBelow(path);
    return name.endsWith('.lock') ? [path] : [];
  });
}

function describe(path: string, kind: FoundLock['kind'], holder?: FoundLock['holder']): FoundLock[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile()) return [];
  return [{ path, kind, holder, ageMs: Date.now() - stats.mtimeMs }];
}

/** Temporary names of git, and of older versions of uwf. */
const ofPacks = /^(?:tmp_(?:pack|idx|rev|keep|bitmap|mtimes)_|\.tmp-\d+-)/;
const ofObjects = /^tmp_obj_/;
const folderOfObjects = /^[0-9a-f]{2}$/;

/** The longest pause between two writes: `git index-pack` resolves all deltas of a large pack. */
const TEMPORARY_MS = 24 * 3_600_000;

/**
 * Removes the unfinished packs and loose objects of killed writers: files with temporary names that were not written to for a
 * day, and keeps that name a process which has ended. `git prune` does so after two weeks.
 *
 * Files that this user may not remove stay.
 * @param folder the folder of a repository's objects
 * @returns the removed files and their sizes
 * Source: `remove_temporary_files` and `prune_cruft` in git's builtin/prune.c.
 */
export function removeTemporaryFiles(folder: string): { path: string; bytes: number }[] {
  const folders = namesIn(folder).filter((name) => folderOfObjects.test(name));
  const found = [
    ...namesIn(join(folder, 'pack')).flatMap((name) => (ofPacks.test(name) ? [join(folder, 'pack', name)] : [])),
    ...['', ...folders].flatMap((below) =>
      namesIn(join(folder, below)).flatMap((name) => (ofObjects.test(name) ? [join(folder, below, name)] : [])),
    ),
  ];
  return found
    .filter((path) => isOlderThan(path, TEMPORARY_MS) || isStaleKeep(path))
    .map((path) => ({ path, bytes: sizeOf(path) }))
    .filter(({ path }) => succeeds(() => removeFile(path)));
}
