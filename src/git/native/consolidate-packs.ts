import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { removeStalePackKeeps } from '../disk/pack-keep.ts';
import type { GitEnvironment } from '../git-directory.ts';
import { errnoOf } from '../object-errors.ts';
import type { RepositoryLocation } from '../repository.ts';
import { runGit } from './run-git.ts';

/**
 * What git is asked for: packs of a size and smaller become one, so that each is twice as large as those after it
 * together. One thread, and no files for servers: it is work for the background.
 */
export const foldArguments: readonly string[] = [
  '-c',
  'pack.threads=1',
  'repack',
  '--geometric=2',
  '-d',
  '-n',
  '-q',
  '--no-write-bitmap-index',
];

/** Counts the packs of a repository's own object folder. */
export function countPacks({ commonDir }: RepositoryLocation): number {
  try {
    return readdirSync(join(commonDir, 'objects', 'pack')).filter((name) => /^pack-.*\.idx$/.test(name)).length;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return 0;
    throw error;
  }
}

/**
 * Folds small packs into larger ones by git's own means, and removes the keeps of writers that were killed.
 *
 * A pack that is at least twice as large as all smaller ones together stays as it is, so that the user's big packs are
 * not written again. Nothing is pruned, packs that are being written are guarded by their keeps, and readers and writers
 * go on meanwhile.
 * @returns how many packs there were and are
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-repack(1), `--geometric`.
 */
export async function consolidatePacks(
  location: RepositoryLocation,
  env: GitEnvironment,
): Promise<{ before: number; after: number }> {
  removeStalePackKeeps(join(location.commonDir, 'objects', 'pack'));
  const before = countPacks(location);
  if (before > 1) await runGit({ location, env, args: foldArguments });
  return { before, after: countPacks(location) };
}
