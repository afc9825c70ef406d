import { join } from 'node:path';
import { succeeds } from '../../or-else.ts';
import { isStaleKeep } from '../stores/disk/pack-keep.ts';
import { namesIn } from '../system/names-in.ts';
import { isOlderThan } from '../system/older-than.ts';
import { sizeOf } from '../system/size-of.ts';
import { removeFile } from '../system/durable-file.ts';

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
