import { createHash, randomBytes } from 'node:crypto';
import { lstatSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { orElse, tryTo } from '../../../or-else.ts';
import { asStorageError, errnoOf } from '../../format/errors.ts';
import {
  type GitObject,
  hashObject,
  type ObjectFormat,
  type ObjectId,
  objectIdBytes,
  type ObjectType,
} from '../../format/object-id.ts';
import type { WrittenObjects } from '../../repository.ts';
import {
  createDurableFile,
  createFile,
  FileRefused,
  isOlderThan,
  makeFolders,
  namesIn,
  readRegularFile,
  removeFile,
  syncFolder,
} from '../../system/files.ts';
import {
  formatIdentity,
  isAlive,
  ownIdentity,
  parseIdentity,
  type ProcessIdentity,
} from '../../system/process-identity.ts';

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

/** A keep has one line. */
const MAX_BYTES = 64 * 1024;
const keepName = /^(pack-.+)\.keep$/;
const keepContent = /^uwf (\S+)\n$/;

/** A keep that is gone, a folder, or not readable. */
const withoutContent = new Set<string | undefined>(['ENOENT', 'EISDIR', 'EACCES']);

/** The ending of an unfinished index. `git prune` removes git's own names for such files. */
const UNFINISHED_INDEX = '.idx.new';

/** Makes a unique name for a pack, without an ending: {@link packWriter} says why. */
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
 * Removes a keep and the pack that was not finished with it, as far as that can be done now. Without its index the
 * pack was never read.
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

/** What the index says about an entry of a pack. */
type PackedEntry = { id: ObjectId; offset: number; crc32: number };

export type EncodedPack = { entries: PackedEntry[]; checksum: Buffer };

/** zlib's level 6 takes 1.5 times as long and saves 1 to 5 % on texts of 1 to 8 KiB; repacking finds deltas anyway. */
const compressionLevel = 1;

/**
 * Encodes objects as a pack without deltas, chunk by chunk. Each object is written once.
 *
 * The generator's return value is what the index needs.
 * @param format which hash names the objects, and ends the pack
 * Source: gitformat-pack(5).
 */
export function* encodePack(
  objects: readonly GitObject[],
  format: ObjectFormat = 'sha1',
): Generator<Uint8Array, EncodedPack> {
  const unique = new Map(objects.map((object) => [hashObject(object, format), object]));
  const digest = createHash(format);
  const entries: PackedEntry[] = [];
  const head = encodePackHead(unique.size);
  digest.update(head);
  yield head;
  let offset = head.byteLength;
  for (const [id, object] of unique) {
    const head = encodeHead(typeNumbers[object.type], object.data.byteLength);
    const entry = Buffer.concat([head, deflate(object.data, compressionLevel)]);
    digest.update(entry);
    entries.push({ id, offset, crc32: crc32(entry) });
    yield entry;
    offset += entry.byteLength;
  }
  const checksum = digest.digest();
  yield checksum;
  return { entries, checksum };
}

const typeNumbers: Readonly<Record<ObjectType, number>> = { commit: 1, tree: 2, blob: 3, tag: 4 };

function encodePackHead(count: number): Buffer {
  const head = Buffer.alloc(12);
  head.write('PACK', 'latin1');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(count, 8);
  return head;
}

/** Encodes the head of an entry. Source: gitformat-pack(5). */
function encodeHead(typeNumber: number, size: number): Buffer {
  const head: number[] = [];
  let byte = (typeNumber << 4) | (size & 0x0f);
  let rest = Math.floor(size / 16);
  while (rest > 0) {
    head.push(byte | 0x80);
    byte = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  head.push(byte);
  return Buffer.from(head);
}

/** zlib's buffer for output, in bytes: as large as the object, within these bounds. Node's default is 16 KiB for any object. */
const MIN_CHUNK = 256;
const MAX_CHUNK = 64 * 1024;

/** zlib's default takes 268 KB of memory for each call; data no longer than this window comes out the same. */
const SMALL = { bytes: 4096, options: { windowBits: 12, memLevel: 5 } };

/** Deflates into a zlib stream (RFC 1950); `level` is zlib's, from 1 (fast) to 9 (small). */
export function deflate(data: Uint8Array, level: number): Buffer {
  return deflateSync(data, {
    level,
    ...(data.byteLength <= SMALL.bytes && SMALL.options),
    chunkSize: Math.min(Math.max(data.byteLength, MIN_CHUNK), MAX_CHUNK),
  });
}

const firstLargeOffset = 0x80000000;

/** Encodes the index (version 2) of a pack. Source: gitformat-pack(5), "Pack index". */
export function encodePackIndex(pack: EncodedPack, format: ObjectFormat = 'sha1'): Buffer {
  const idBytes = objectIdBytes(format);
  // Ids are lower-case hexadecimal, so that their order as strings is that of their bytes.
  const entries = pack.entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const count = entries.length;
  const large = entries.filter((entry) => entry.offset >= firstLargeOffset);
  const idsAt = 8 + 256 * 4;
  const crcsAt = idsAt + count * idBytes;
  const offsetsAt = crcsAt + count * 4;
  const largeAt = offsetsAt + count * 4;
  const checksumsAt = largeAt + large.length * 8;
  const index = Buffer.alloc(checksumsAt + 2 * idBytes);
  index.writeUInt32BE(0xff744f63, 0);
  index.writeUInt32BE(2, 4);
  const perBucket = new Uint32Array(256);
  let largeCount = 0;
  for (const [position, { id, offset, crc32 }] of entries.entries()) {
    index.write(id, idsAt + position * idBytes, 'hex');
    const bucket = index.readUInt8(idsAt + position * idBytes);
    perBucket[bucket] = (perBucket[bucket] ?? 0) + 1;
    index.writeUInt32BE(crc32, crcsAt + position * 4);
    if (offset < firstLargeOffset) {
      index.writeUInt32BE(offset, offsetsAt + position * 4);
    } else {
      index.writeUInt32BE(firstLargeOffset + largeCount, offsetsAt + position * 4);
      index.writeBigUInt64BE(BigInt(offset), largeAt + largeCount * 8);
      largeCount++;
    }
  }
  let total = 0;
  for (const [bucket, inBucket] of perBucket.entries()) {
    total += inBucket;
    index.writeUInt32BE(total, 8 + bucket * 4);
  }
  pack.checksum.copy(index, checksumsAt);
  createHash(format)
    .update(index.subarray(0, checksumsAt + idBytes))
    .digest()
    .copy(index, checksumsAt + idBytes);
  return index;
}
