import { removeStalePackKeeps } from '../disk/pack-keep.ts';
import type { GitEnvironment } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';
import {
  countPacks,
  listSmallPacks,
  packFolderOf,
  readSmallPacks,
  smallestPacks,
  type FoldablePack,
} from './foldable-packs.ts';
import { joinPacks, longestChain } from './join-packs.ts';
import { runGit } from './run-git.ts';
import type { GitStart } from './spawn-git.ts';

/** Larger packs are git's to fold. They are many steps, or the user's. */
const mostBytes = 8 * 1024 * 1024;

/** The ids of all that is folded at once are held in memory. */
const mostBytesTogether = 64 * 1024 * 1024;

/** What git is asked for: packs of a size and smaller become one, so that each is twice as large as those after it together. */
const foldArguments: readonly string[] = [
  'repack',
  '--geometric=2',
  '-d',
  '-n',
  '-q',
  '--no-write-bitmap-index',
  `--depth=${longestChain}`,
];

/**
 * Folds small packs, up to 64 MiB of them, into one and the others into larger ones by git's own means, and removes the
 * keeps of writers that were killed.
 *
 * A pack over 8 MiB that is at least twice as large as all smaller ones together stays as it is, so that the user's big
 * packs are not written again. Nothing is pruned, packs that are being written are guarded by their keeps, and readers and writers
 * go on meanwhile.
 * @returns how many packs there were and are
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-repack(1), `--geometric`.
 */
export async function consolidatePacks(
  location: RepositoryLocation,
  env: GitEnvironment,
): Promise<{ before: number; after: number }> {
  removeStalePackKeeps(packFolderOf(location));
  const before = countPacks(location);
  if (before > 1) {
    const packs = smallPacks(location);
    if (packs.length > 1) await joinPacks({ location, env }, packs);
    await runGit({ location, env, args: foldArguments });
  }
  return { before, after: countPacks(location) };
}

/**
 * Folds those packs that are small, as far as one is not twice as large as all smaller ones together.
 *
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function foldSmallPacks(git: Omit<GitStart, 'args'>): Promise<void> {
  const packs = outOfProportion(smallPacks(git.location));
  if (packs.length > 1) await joinPacks(git, packs);
}

function smallPacks(location: RepositoryLocation): FoldablePack[] {
  const folder = packFolderOf(location);
  return readSmallPacks(folder, smallestPacks(listSmallPacks(folder, mostBytes), mostBytesTogether));
}

/** The packs without those that have twice as many objects as all smaller ones together. */
function outOfProportion(packs: readonly FoldablePack[]): FoldablePack[] {
  const bySize = packs.toSorted((a, b) => a.ids.length - b.ids.length);
  let smaller = bySize.reduce((sum, pack) => sum + pack.ids.length, 0);
  while (bySize.length > 0) {
    const largest = bySize.at(-1)?.ids.length ?? 0;
    smaller -= largest;
    if (largest < 2 * smaller || smaller === 0) return bySize;
    bySize.pop();
  }
  return bySize;
}
