import { randomBytes } from 'node:crypto';
import { lstatSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { orElse } from '../../../or-else.ts';
import type { ObjectFormat } from '../../format/object-id.ts';
import { namesIn } from '../../system/names-in.ts';
import { errnoOf } from '../../format/object-errors.ts';
import { isOlderThan } from '../../system/older-than.ts';
import {
  formatIdentity,
  isAlive,
  ownIdentity,
  parseIdentity,
  type ProcessIdentity,
} from '../../system/process-identity.ts';
import { FileRefused, readRegularFile } from '../../system/read-regular-file.ts';
import { createFile, removeFile } from '../../system/durable-file.ts';

/** A keep has one line. */
const MAX_BYTES = 64 * 1024;
const keepName = /^(pack-.+)\.keep$/;
const keepContent = /^uwf (\S+)\n$/;

/** A keep that is gone, a folder, or not readable. */
const withoutContent = new Set<string | undefined>(['ENOENT', 'EISDIR', 'EACCES']);

/** The ending of an unfinished index. `git prune` removes git's own names for such files. */
export const UNFINISHED_INDEX = '.idx.new';

/**
 * Makes a unique name for a pack, without an ending. git names packs by a hash of their content, and readers of packs do not
 * check that: two writers of the same objects must not share a keep.
 */
export function newPackName(format: ObjectFormat): string {
  return `pack-${randomBytes(format === 'sha1' ? 20 : 32).toString('hex')}`;
}

/**
 * Keeps git from deleting a pack that no ref needs yet: `git repack -ad` and `git gc` leave a pack with a `.keep` alone.
 *
 * The file names its process, so that the keep of a killed process is found.
 * Source: git-repack(1), gitrepository-layout(5).
 */
export class PackKeep {
  readonly path: string;
  #isRemoved = false;

  /** @param packPath the pack's path without its ending */
  constructor(packPath: string) {
    this.path = `${packPath}.keep`;
    // Renamed into place, because a keep without its owner would stay for ever. `git gc` removes the temporary file of a
    // crash.
    const temporary = join(dirname(packPath), `tmp_keep_${randomBytes(16).toString('hex')}`);
    do createFile(temporary, `uwf ${formatIdentity(ownIdentity())}\n`);
    while (!rename(temporary, this.path));
  }

  /** Releases the pack to git. Calling it again is harmless. */
  remove(): void {
    if (this.#isRemoved) return;
    removeFile(this.path);
    this.#isRemoved = true;
  }
}

/**
 * How long a keep is valid if its process cannot be checked from here: it runs on another host or in another container. A
 * keep blocks only the space of its pack, so this is far longer than the moments between writing objects and moving refs. A
 * process that stands still for longer loses its objects if a `git repack -ad` runs meanwhile; git then refuses a ref to them.
 */
export const KEEP_MS: number = 24 * 3_600_000;

/**
 * Removes the keeps of killed processes, with their unfinished packs, which have no index.
 *
 * Keeps of git, of people, and of processes that may still run stay. Keeps of processes that cannot be checked from here stay
 * for {@link KEEP_MS}. Keeps that this user may not remove stay too: they cost only space.
 * @param folder the folder of the packs
 */
export function removeStalePackKeeps(folder: string): void {
  for (const name of namesIn(folder)) {
    const base = keepName.exec(name)?.[1];
    if (base === undefined || !isStaleKeep(join(folder, name))) continue;
    // Checked after the end of the writer is known: before, it could have finished the pack and moved a ref.
    abandonPack(join(folder, base));
  }
}

/**
 * Removes a keep and the pack that was not finished with it, as far as that can be done now.
 *
 * A keep is made before its pack, and the index comes last: a pack without an index was never read.
 * @param packPath the pack's path without its ending; no process writes it any more
 */
export function abandonPack(packPath: string): void {
  try {
    const isFinished = lstatSync(`${packPath}.idx`, { throwIfNoEntry: false }) !== undefined;
    if (!isFinished) for (const ending of ['.promisor', UNFINISHED_INDEX, '.pack']) removeFile(packPath + ending);
    // Last, because the rest is found by the keep.
    removeFile(`${packPath}.keep`);
  } catch {
    // Not removable by this user (owner, or a read-only disk). A later run with access removes it.
  }
}

/** Renames a temporary file; false if a `git gc --prune=now` has removed it. */
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

/** The process that a keep belongs to; `undefined` if it is not a keep of uwf. */
export function keeperOf(path: string): ProcessIdentity | undefined {
  return parseIdentity(keepContent.exec(contentOf(path))?.[1] ?? '');
}

/** Whether a keep, or the temporary file of one, is of a process that has ended. */
export function isStaleKeep(path: string): boolean {
  const identity = keeperOf(path);
  if (identity === undefined) return false;
  const alive = isAlive(identity);
  return alive === 'other-host' ? isOlderThan(path, KEEP_MS) : !alive;
}

/** The content of a keep; empty if it is gone, not a file, or not readable. */
export function contentOf(path: string): string {
  const isExpected = (error: unknown): boolean => error instanceof FileRefused || withoutContent.has(errnoOf(error));
  return orElse(() => readRegularFile(path, MAX_BYTES).toString('utf8'), '', isExpected);
}
