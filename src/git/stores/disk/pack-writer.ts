import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { tryTo } from '../../../or-else.ts';
import { asStorageError } from '../../format/object-errors.ts';
import type { GitObject, ObjectFormat } from '../../format/object-id.ts';
import type { WrittenObjects } from '../../object-store.ts';
import { createDurableFile, removeFile, syncFolder } from '../../system/durable-file.ts';
import { makeFolders } from '../../system/make-folders.ts';
import { encodePack, type EncodedPack } from './encode-pack.ts';
import { encodePackIndex } from './encode-pack-index.ts';
import { newPackName, PackKeep, removeStalePackKeeps, UNFINISHED_INDEX } from './pack-keep.ts';

/** git makes packs read-only: nothing ever changes them. */
const PACK_MODE = 0o444;
const CHUNK_BYTES = 1024 * 1024;

/**
 * Makes the function that writes into an object folder, the repository's own: each group of objects as one small pack with its index,
 * durable when it returns, and kept from git until it is released. The first time it also removes what killed writers left.
 *
 * The order is keep, pack, index: git looks for indexes, so that it never sees a pack that is not whole or not kept. No
 * file has one of git's names for temporary files, because `git gc --prune=now` removes those while they are written. What
 * a crash leaves has a keep, by which {@link removeStalePackKeeps} finds it.
 *
 * A pack's name is its own, not that of its content: two writers of the same objects must not share a keep, which the
 * one would remove while the other still needs it.
 * @throws {StorageFull} / {StorageReadOnly}; nothing stays then
 */
export function packWriter(
  objectFolder: string,
  format: ObjectFormat,
): (objects: readonly GitObject[]) => WrittenObjects {
  let keepsAreSwept = false;
  return (objects) => {
    if (objects.length === 0) return { release: async () => {} };
    const folder = join(objectFolder, 'pack');
    if (!keepsAreSwept) removeStalePackKeeps(folder);
    keepsAreSwept = true;
    const path = join(folder, newPackName(format));
    const made: string[] = [];
    try {
      makeFolders(folder);
      const keep = new PackKeep(path);
      made.push(keep.path);
      const pack = writePackFile(`${path}.pack`, objects, format);
      made.push(`${path}.pack`);
      createDurableFile(`${path}${UNFINISHED_INDEX}`, [encodePackIndex(pack, format)], PACK_MODE);
      made.push(`${path}${UNFINISHED_INDEX}`);
      renameSync(`${path}${UNFINISHED_INDEX}`, `${path}.idx`);
      // From here on git can leave out of another pack what is in this one.
      made.splice(1);
      syncFolder(folder);
      // A keep that cannot be removed, as on a disk that has become read-only, goes as that of an ended process.
      return { release: async () => tryTo(() => keep.remove()) };
    } catch (error) {
      // The index goes first, as it came last. The first error says more than one about cleaning up after it.
      for (const file of made.toReversed()) tryTo(() => removeFile(file));
      throw asStorageError(error, folder);
    }
  };
}

function writePackFile(path: string, objects: readonly GitObject[], format: ObjectFormat): EncodedPack {
  let pack: EncodedPack | undefined;
  function* encoded(): Generator<Uint8Array> {
    pack = yield* encodePack(objects, format);
  }
  createDurableFile(path, joined(encoded()), PACK_MODE);
  if (pack === undefined) throw new Error('the pack was not written to its end');
  return pack;
}

/** Joins small chunks, so that the number of writes does not depend on the number of objects. */
function* joined(chunks: Iterable<Uint8Array>): Generator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    waiting.push(chunk);
    bytes += chunk.byteLength;
    if (bytes < CHUNK_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
  }
  yield Buffer.concat(waiting);
}
