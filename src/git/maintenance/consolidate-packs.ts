import type { GitPlace } from '../process/spawn-git.ts';
import { removeStalePackKeeps } from '../stores/disk/pack-keep.ts';
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
import type { GitStart } from '../process/spawn-git.ts';

/** Larger packs are not repacked: each has many steps. */
const MAX_BYTES = 8 * 1024 * 1024;

/** The ids of all objects of one repacking are held in memory. */
const MAX_BYTES_TOGETHER = 64 * 1024 * 1024;

/**
 * Repacks the small packs that uwf made, up to 64 MiB together, into one, and removes the keeps of killed writers.
 *
 * Does not touch other packs, their multi-pack-index and their bitmaps. Prunes nothing. Packs that are being written have
 * keeps, and readers and writers continue meanwhile.
 * @returns the numbers of packs before and after, including the user's
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function consolidatePacks(git: GitPlace): Promise<{ before: number; after: number }> {
  removeStalePackKeeps(packFolderOf(git.location));
  const before = countPacks(git.location);
  if (before > 1) {
    const packs = smallPacks(git.location);
    if (packs.length > 1) await joinPacks(git, packs);
  }
  return { before, after: countPacks(git.location) };
}

/**
 * Repacks small packs, without those that are at least twice as large as all smaller ones together.
 *
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function foldSmallPacks(git: Omit<GitStart, 'args'>): Promise<void> {
  const packs = outOfProportion(smallPacks(git.location));
  if (packs.length > 1) await joinPacks(git, packs);
}

function smallPacks(location: RepositoryLocation): FoldablePack[] {
  const folder = packFolderOf(location);
  return readSmallPacks(folder, smallestPacks(listSmallPacks(folder, MAX_BYTES), MAX_BYTES_TOGETHER));
}

/** The packs without those that have at least twice as many objects as all smaller ones together. */
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
