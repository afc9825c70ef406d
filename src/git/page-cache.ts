/**
 * Reads bytes of something that never changes; fewer than asked for where it ends. They are good until the next read and
 * must not be written to.
 */
export type ReadBytes = (position: number, length: number) => Buffer;

/** Fills a buffer with what lies at a place, as far as that goes; gives the part that was filled. */
export type FillBuffer = (buffer: Buffer, position: number) => Buffer;

/** A file as large as a page of a few objects: what lies close together is read with one call. */
const pageBytes = 16 * 1024;
/** What spans more pages than this is read by itself, and not kept. */
const mostPages = 4;

/** A page, and how much of it there is: less at the end of a file. */
type Page = { buffer: Buffer; bytes: Buffer };

let owners = 0;

/**
 * Keeps pieces of files that never change, up to a number of bytes in all, the least recently used one dropped first.
 *
 * Reading an object takes half a dozen reads of a few bytes each (of an index, of a header), each as dear as reading all
 * that lies around it; who reads one object mostly reads its neighbours next.
 */
export class PageCache {
  readonly #maxPages: number;
  /** By owner, then by page; the order of insertion is that of use. */
  readonly #pages: Map<number, Page> = new Map();

  constructor(maxBytes: number) {
    this.#maxPages = Math.max(1, Math.floor(maxBytes / pageBytes));
  }

  /** The bytes of one file through this cache. */
  open(fill: FillBuffer): ReadBytes {
    // Page numbers stay below 2^32 for files of up to 2^46 bytes, so that both fit into one number.
    const owner = (owners += 1) * 2 ** 32;
    return (position, length) => {
      const first = Math.floor(position / pageBytes);
      const last = Math.floor((position + length - 1) / pageBytes);
      const start = position - first * pageBytes;
      if (last <= first) return this.#page(owner, first, fill).subarray(start, start + length);
      const bytes = Buffer.allocUnsafe(length);
      if (last - first >= mostPages) return fill(bytes, position);
      let filled = this.#page(owner, first, fill).subarray(start).copy(bytes);
      for (let page = first + 1; page <= last; page++) filled += this.#page(owner, page, fill).copy(bytes, filled);
      return bytes.subarray(0, filled);
    };
  }

  clear(): void {
    this.#pages.clear();
  }

  #page(owner: number, number: number, fill: FillBuffer): Buffer {
    const key = owner + number;
    const known = this.#pages.get(key);
    if (known !== undefined) {
      this.#pages.delete(key);
      this.#pages.set(key, known);
      return known.bytes;
    }
    const buffer = this.#unusedBuffer();
    const bytes = fill(buffer, number * pageBytes);
    this.#pages.set(key, { buffer, bytes });
    return bytes;
  }

  /** That of the page that was not used for longest, once there are as many as there may be: what is thrown away piles up. */
  #unusedBuffer(): Buffer {
    if (this.#pages.size >= this.#maxPages) {
      for (const [key, { buffer }] of this.#pages) {
        this.#pages.delete(key);
        return buffer;
      }
    }
    return Buffer.allocUnsafeSlow(pageBytes);
  }
}
