import { randomBytes } from 'node:crypto';
import { lstatSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { namesIn } from '../names-in.ts';
import { errnoOf } from '../object-errors.ts';
import { isOlderThan } from '../older-than.ts';
import { formatIdentity, isAlive, ownIdentity, parseIdentity, type ProcessIdentity } from '../process-identity.ts';
import { FileRefused, readRegularFile } from '../read-regular-file.ts';
import { createFile, removeFile } from './durable-file.ts';

/** A keep has a line. */
const MAX_BYTES = 64 * 1024;
const keepName = /^(pack-.+)\.keep$/;
const keepContent = /^uwf (\S+)\n$/;

/** How the name of an index ends until it is complete. `git prune` removes the names that git has for such files. */
export const UNFINISHED_INDEX = '.idx.new';

/**
 * Keeps git from deleting a pack that no ref needs yet: `git repack -ad` and `git gc` leave a pack with a `.keep` alone.
 *
 * The file says which process it belongs to, so that the keep of one that was killed is found again.
 * Source: git-repack(1), gitrepository-layout(5).
 */
export class PackKeep {
  readonly path: string;
  #isRemoved = false;

  /** @param packPath the pack's path without its ending */
  constructor(packPath: string) {
    this.path = `${packPath}.keep`;
    // Renamed into place: a keep that does not say whose it is would stay for ever. `git gc` removes what a crash leaves.
    const temporary = join(dirname(packPath), `tmp_keep_${randomBytes(16).toString('hex')}`);
    do createFile(temporary, `uwf ${formatIdentity(ownIdentity())}\n`);
    while (!rename(temporary, this.path));
  }

  /** Lets git have the pack. Harmless when it is called again. */
  remove(): void {
    if (this.#isRemoved) return;
    removeFile(this.path);
    this.#isRemoved = true;
  }
}

/**
 * How long a keep counts whose process cannot be seen from here: it runs on another host, or in another container. A keep blocks
 * nothing but the space of its pack, so this is far longer than the moments between writing objects and naming them.
 * A process that stands still there for longer loses what it wrote if a `git repack -ad` runs meanwhile, and finds that when it
 * is read; no lock that it held then is still its own.
 */
export const KEEP_MS: number = 24 * 3_600_000;

/**
 * Removes the keeps of processes that were killed, and what they had not finished with them: a pack without an index.
 *
 * Keeps of others (git's own, a person's) and of processes that may still run stay; those of processes that cannot be seen
 * from here stay for {@link KEEP_MS}. So does what this user may not
 * remove: a keep that is left costs space, and is no reason to do nothing.
 * @param folder the folder of the packs
 */
export function removeStalePackKeeps(folder: string): void {
  for (const name of namesIn(folder)) {
    const base = keepName.exec(name)?.[1];
    if (base === undefined || !isStale(join(folder, name))) continue;
    // Looked at now that the writer is known to have ended: before, it may have been about to finish and to move a ref.
    abandonPack(join(folder, base));
  }
}

/**
 * Removes a keep and the pack that was not finished with it, as far as that can be done now.
 *
 * A keep is made before its pack, and the index comes last: without one nobody has ever read that pack.
 * @param packPath the pack's path without its ending; nobody writes it any more
 */
export function abandonPack(packPath: string): void {
  try {
    const isFinished = lstatSync(`${packPath}.idx`, { throwIfNoEntry: false }) !== undefined;
    if (!isFinished) for (const ending of ['.promisor', UNFINISHED_INDEX, '.pack']) removeFile(packPath + ending);
    // Last: as long as it is there, what this leaves is found again.
    removeFile(`${packPath}.keep`);
  } catch {
    // It belongs to somebody else, or the disk can only be read now: whoever may, does it later.
  }
}

/** Renames a temporary file; false if it has gone: a `git gc --prune=now` removes it whose file it is. */
function rename(temporary: string, path: string): boolean {
  try {
    renameSync(temporary, path);
    return true;
  } catch (error) {
    removeFile(temporary);
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Whose keep a file is; `undefined` if it is none of uwf's. */
export function keeperOf(path: string): ProcessIdentity | undefined {
  return parseIdentity(keepContent.exec(contentOf(path))?.[1] ?? '');
}

function isStale(path: string): boolean {
  const identity = keeperOf(path);
  if (identity === undefined) return false;
  const alive = isAlive(identity);
  return alive === 'other-host' ? isOlderThan(path, KEEP_MS) : !alive;
}

/** What a keep says; empty for one that is gone, is no file, or may not be read. */
export function contentOf(path: string): string {
  try {
    return readRegularFile(path, MAX_BYTES).toString('utf8');
  } catch (error) {
    if (error instanceof FileRefused || errnoOf(error) === 'ENOENT' || errnoOf(error) === 'EACCES') return '';
    throw error;
  }
}
