import { createHash, randomBytes } from 'node:crypto';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolders } from '../make-folders.ts';
import { asStorageError } from '../object-errors.ts';
import type { GitObject, ObjectFormat } from '../object-id.ts';
import { createDurableFile, removeFile, syncFolder } from './durable-file.ts';
import { encodePackIndex } from './encode-pack-index.ts';
import { encodePack } from './encode-pack.ts';
import type { EncodedPack } from './encode-pack.ts';
import { PackKeep } from './pack-keep.ts';

/** git makes packs read-only: nothing ever changes them. */
const packMode = 0o444;
const chunkBytes = 1024 * 1024;

/**
 * Writes objects as one pack with its index, durable when it returns, and kept from git until the keep is removed.
 *
 * The order is keep, pack, index: git looks for indexes, so that it never sees a pack that is not whole or not kept. Of
 * a crash stay temporary names that `git gc` removes, or a keep that {@link removeStalePackKeeps} finds.
 *
 * A pack's name is its own, not that of its content: two writers of the same objects must not share a keep, which the
 * one would remove while the other still needs it.
 * @throws {StorageFull} / {StorageReadOnly}; nothing stays then
 */
export function writePack(folder: string, objects: readonly GitObject[], format: ObjectFormat): PackKeep {
  const unique = randomBytes(16).toString('hex');
  const temporaryPack = join(folder, `tmp_pack_${unique}`);
  const temporaryIndex = join(folder, `tmp_idx_${unique}`);
  const made: string[] = [];
  try {
    makeFolders(folder);
    const pack = writePackFile(temporaryPack, objects, format);
    made.push(temporaryPack);
    createDurableFile(temporaryIndex, [encodePackIndex(pack, format)], packMode);
    made.push(temporaryIndex);
    const name = createHash(format).update(pack.checksum).update(unique).digest('hex');
    const path = join(folder, `pack-${name}`);
    const keep = new PackKeep(path, join(folder, `tmp_keep_${unique}`));
    made.push(keep.path);
    made.push(`${path}.pack`);
    renameSync(temporaryPack, `${path}.pack`);
    made.push(`${path}.idx`);
    renameSync(temporaryIndex, `${path}.idx`);
    syncFolder(folder);
    return keep;
  } catch (error) {
    // The index goes first, as it came last.
    for (const path of made.toReversed()) removeAsFarAsPossible(path);
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
