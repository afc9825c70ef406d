import { crc32 } from 'node:zlib';
import type { ReadBytes } from '../../git/system/page-cache.ts';

/** The bytes under one checksum: as many as are read from a large file at once. */
const pageBytes = 16 * 1024;
const sumBytes = 4;

/** A segment of the lookup is damaged. The lookup catches this error and is rebuilt. */
export class DamagedSegment extends Error {}

/** The size of the checksums of this many bytes. */
export function sizeOfSums(bytes: number): number {
  return Math.ceil(bytes / pageBytes) * sumBytes;
}

/** Computes a checksum for each page of a file that is written in pieces. */
export class PageSums {
  readonly #sums: number[] = [];
  #open = 0;
  #used = 0;

  add(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + pageBytes - this.#used);
      this.#open = crc32(piece, this.#open);
      this.#used += piece.length;
      at += piece.length;
      if (this.#used === pageBytes) this.#close();
    }
  }

  /** The checksums of all that was added. */
  encode(): Buffer {
    if (this.#used > 0) this.#close();
    const bytes = Buffer.alloc(this.#sums.length * sumBytes);
    for (const [page, sum] of this.#sums.entries()) bytes.writeUInt32BE(sum, page * sumBytes);
    return bytes;
  }

  #close(): void {
    this.#sums.push(this.#open);
    this.#open = 0;
    this.#used = 0;
  }
}

/**
 * Wraps a reader so that each page is compared with its checksum when it is first read.
 *
 * @param size how many bytes there are
 * @param sums what {@link PageSums} made of them
 */
export function checkedRead(read: ReadBytes, size: number, sums: Buffer): ReadBytes {
  const isSound = new Uint8Array(sums.length / sumBytes);
  const check = (page: number): void => {
    const start = page * pageBytes;
    const bytes = read(start, Math.min(pageBytes, size - start));
    if (crc32(bytes) !== sums.readUInt32BE(page * sumBytes)) throw new DamagedSegment();
    isSound[page] = 1;
  };
  return (position, length) => {
    const last = Math.floor((position + length - 1) / pageBytes);
    for (let page = Math.floor(position / pageBytes); page <= last; page++) if (isSound[page] !== 1) check(page);
    return read(position, length);
  };
}
