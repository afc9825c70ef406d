import { constants, fstatSync, openSync, readSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import { errnoOf } from '../format/object-errors.ts';
import { whileOpen } from './while-open.ts';

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
