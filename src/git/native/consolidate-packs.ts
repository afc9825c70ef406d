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
import { joinPacks } from './join-packs.ts';
import type { GitStart } from './spawn-git.ts';

/** Larger packs are left alone: each is many steps. */
const mostBytes = 8 * 1024 * 1024;

/** The ids of all that is folded at once are held in memory. */
const mostBytesTogether = 64 * 1024 * 1024;

/**
 * Folds the small packs that uwf made, up to 64 MiB of them, into one, and removes the keeps of writers that were killed.
 *
 * All other packs are left as they are, with their multi-pack-index and their bitmaps. Nothing is pruned, packs that are
 * being written are guarded by their keeps, and readers and writers go on meanwhile.
 * @returns how many packs there were and are, the user's included
 * @throws {GitFailed} {GitNotFound} as `runGit`
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
