import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { orElse } from '../../or-else.ts';
import { errnoOf, isNotThere } from '../format/object-errors.ts';

/** A file that exists but is not read: not a regular file, too large, or in a place where reading is not allowed. */
export class FileRefused extends UwfError {
  readonly path: string;
  /** What is wrong with it: `is not a regular file`. */
  readonly reason: string;
  constructor(path: string, reason: string, hint: string) {
    super(`${path} ${reason}`, { code: 'file-refused', kind: 'data', hint });
    this.path = path;
    this.reason = reason;
  }
}

/** Flags for opening a file to read: without waiting for the writer of a pipe. */
export const READ: number = constants.O_RDONLY | constants.O_NONBLOCK;
const CHUNK_BYTES = 64 * 1024;

/**
 * Reads a whole file, follows links, and never reads more than `maxBytes`: a device or a pipe can be endless.
 *
 * @param flags how it is opened; with `O_NOFOLLOW` a link is refused
 * @throws {FileRefused} if it is no regular file, or larger
 * File system errors come through as they are, ENOENT among them.
 */
export function readRegularFile(path: string, maxBytes: number, flags: number = READ): Buffer {
  return whileOpen(openFile(path, flags), (descriptor) => readOpened(descriptor, path, maxBytes));
}

/** Reads an open file in the same way. */
export function readOpened(descriptor: number, path: string, maxBytes: number): Buffer {
  const stats = fstatSync(descriptor);
  if (!stats.isFile() && !stats.isDirectory())
    throw new FileRefused(path, 'is not a regular file', 'put an ordinary file there');
  const chunks: Buffer[] = [];
  // Reading a folder fails with EISDIR, which callers expect.
  let length = stats.isDirectory() ? 0 : stats.size;
  // Files that are generated while they are read, as in /proc, have size 0. They end where nothing more comes, others where
  // less comes than was asked for.
  const isStored = length > 0;
  for (let bytes = 0; length <= maxBytes; length = Math.max(length, bytes)) {
    const chunk = Buffer.allocUnsafe(
      Math.min(isStored && bytes === 0 ? length + 1 : CHUNK_BYTES, maxBytes + 1 - bytes),
    );
    const count = readSync(descriptor, chunk);
    if (count > 0) chunks.push(chunk.subarray(0, count));
    bytes += count;
    if (count === 0 || (isStored && count < chunk.length)) return Buffer.concat(chunks, bytes);
  }
  throw new FileRefused(path, `has more than ${maxBytes} bytes`, 'make it smaller');
}

/** @throws {FileRefused} if there is a link that may not be followed */
export function openFile(path: string, flags: number): number {
  try {
    return openSync(path, flags);
  } catch (error) {
    if (errnoOf(error) !== 'ELOOP') throw error;
    throw new FileRefused(path, 'is a link', 'put the file itself there');
  }
}

/** Works with an open file, and closes it afterwards, also after an error. */
export function whileOpen<T>(descriptor: number, work: (descriptor: number) => T): T {
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads from a position until the buffer is full or the file ends; returns the filled part. */
export function readAt(descriptor: number, buffer: Buffer, position: number): Buffer {
  let filled = 0;
  while (filled < buffer.byteLength) {
    const count = readSync(descriptor, buffer, filled, buffer.byteLength - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}

/** The stats of a file, links followed; `undefined` if there is none, also where a file is in place of one of its folders. */
export function findStats(path: string): Stats | undefined {
  return orElse(() => statSync(path, { throwIfNoEntry: false }), undefined, isNotThere);
}

/** As {@link findStats} of the file itself, which may be a link. */
export function findOwnStats(path: string): BigIntStats | undefined {
  return orElse(() => lstatSync(path, { bigint: true, throwIfNoEntry: false }), undefined, isNotThere);
}

/** The names in a folder, in no order; none where there is no folder. */
export function namesIn(folder: string): string[] {
  return orElse(() => readdirSync(folder), [], isNotThere);
}

/** The size of a file, or of all files below a folder. Files that disappear meanwhile count as empty. */
export function sizeOf(path: string): number {
  return orElse(() => {
    const stats = lstatSync(path);
    if (!stats.isDirectory()) return stats.size;
    return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
  }, 0);
}

/** Tells whether a file was last written more than `ageMs` ago; false if there is none. */
export function isOlderThan(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > ageMs;
}

/** What changed less than this ago can change again without a new time. */
const SETTLED_AFTER_MS = 2_500;

/** Tells whether a time of a file is so old that another change would give it another one; one in the future is not. */
export function isSettled(timeNs: bigint): boolean {
  return Number(timeNs / 1_000_000n) < Date.now() - SETTLED_AFTER_MS;
}

/**
 * Tells whether a file was last written `ageMs` from now or more, before or after: one from the future was written before the
 * clock was set back. False if there is none.
 */
export function isFarFromNow(path: string, ageMs: number): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Math.abs(Date.now() - stats.mtimeMs) > ageMs;
}
