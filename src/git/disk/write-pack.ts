import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../make-folders.ts';
import { asStorageError } from '../object-errors.ts';
import type { GitObject, ObjectFormat } from '../object-id.ts';
import { createDurableFile, removeFile, syncFolder } from './durable-file.ts';
import { encodePackIndex } from './encode-pack-index.ts';
import { encodePack } from './encode-pack.ts';
import type { EncodedPack } from './encode-pack.ts';
import { PackKeep, UNFINISHED_INDEX } from './pack-keep.ts';
import { newPackName } from './pack-name.ts';

/** git makes packs read-only: nothing ever changes them. */
const packMode = 0o444;
const chunkBytes = 1024 * 1024;

/**
 * Writes objects as one pack with its index, durable when it returns, and kept from git until the keep is removed.
 *
 * The order is keep, pack, index: git looks for indexes, so that it never sees a pack that is not whole or not kept. No
 * file has one of git's names for temporary files, because `git gc --prune=now` removes those while they are written. What
 * a crash leaves has a keep, by which {@link removeStalePackKeeps} finds it.
 *
 * A pack's name is its own, not that of its content: two writers of the same objects must not share a keep, which the
 * one would remove while the other still needs it.
 * @throws {StorageFull} / {StorageReadOnly}; nothing stays then
 */
export function writePack(folder: string, objects: readonly GitObject[], format: ObjectFormat): PackKeep {
  const path = join(folder, newPackName(format));
  const made: string[] = [];
  try {
    makeFolders(folder);
    const keep = new PackKeep(path);
    made.push(keep.path);
    const pack = writePackFile(`${path}.pack`, objects, format);
    made.push(`${path}.pack`);
    createDurableFile(`${path}${UNFINISHED_INDEX}`, [encodePackIndex(pack, format)], packMode);
    made.push(`${path}${UNFINISHED_INDEX}`, `${path}.idx`);
    renameSync(`${path}${UNFINISHED_INDEX}`, `${path}.idx`);
    syncFolder(folder);
    return keep;
  } catch (error) {
    // The index goes first, as it came last.
    for (const file of made.toReversed()) removeAsFarAsPossible(file);
    throw asStorageError(error, folder);
  }
}

function writePackFile(path: string, objects: readonly GitObject[], format: ObjectFormat): EncodedPack {
  const source = encodePack(objects, format);
  let pack: EncodedPack | undefined;
  /** Joins small chunks, so that the number of writes does not depend on the number of objects. */
  function* chunks(): Generator<Uint8Array> {
    let waiting: Uint8Array[] = [];
    let bytes = 0;
    for (let next = source.next(); ; next = source.next()) {
      if (next.done === true) {
        pack = next.value;
        break;
      }
      waiting.push(next.value);
      bytes += next.value.byteLength;
      if (bytes < chunkBytes) continue;
      yield Buffer.concat(waiting);
      waiting = [];
      bytes = 0;
    }
    yield Buffer.concat(waiting);
  }
  createDurableFile(path, chunks(), packMode);
  if (pack === undefined) throw new Error('the pack was not written to its end');
  return pack;
}

function removeAsFarAsPossible(path: string): void {
  try {
    removeFile(path);
  } catch {
    // The first error says more than one about cleaning up after it.
  }
}
