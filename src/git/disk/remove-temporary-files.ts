import { join } from 'node:path';
import { namesIn } from '../names-in.ts';
import { isOlderThan } from '../older-than.ts';
import { sizeOf } from '../size-of.ts';
import { removeFile } from './durable-file.ts';

/** What git, and uwf before it gave its packs their names at once, call files that they are writing. */
const ofPacks = /^(?:tmp_(?:pack|idx|rev|keep|bitmap|mtimes)_|\.tmp-\d+-)/;
const ofObjects = /^tmp_obj_/;
const folderOfObjects = /^[0-9a-f]{2}$/;

/** As long as that a writer may be busy between two writes: `git index-pack` puts together all deltas of a large pack. */
const TEMPORARY_MS = 24 * 3_600_000;

/**
 * Removes what writers that were killed left of packs and loose objects: files with temporary names that nothing was written
 * to for a day. `git prune` does so after two weeks.
 *
 * A file that this user may not remove stays.
 * @param folder the folder of a repository's objects
 * @returns what was removed, with how many bytes it had
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
    .filter((path) => isOlderThan(path, TEMPORARY_MS))
    .map((path) => ({ path, bytes: sizeOf(path) }))
    .filter(({ path }) => tryToRemove(path));
}

function tryToRemove(path: string): boolean {
  try {
    removeFile(path);
    return true;
  } catch {
    return false;
  }
}
