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
type Page = {
  /** The file and the place that it holds; {@link noPage} where that has been dropped. */
  key: number;
  buffer: Buffer;
  bytes: Buffer;
  /** Whether it was asked for since it was last considered to be dropped. */
  isUsed: boolean;
};

const noPage = -1;

let owners = 0;

/**
 * Keeps pieces of files that never change, up to a number of bytes in all, those dropped first that were not asked for lately.
 *
 * Reading an object takes half a dozen reads of a few bytes each (of an index, of a header), each as dear as reading all
 * that lies around it; who reads one object mostly reads its neighbours next.
 */
export class PageCache {
  readonly #maxPages: number;
  /** By file and place, in the order in which they are considered to be dropped. */
  readonly #pages: Map<number, Page> = new Map();

  constructor(maxBytes: number) {
    this.#maxPages = Math.max(1, Math.floor(maxBytes / pageBytes));
  }

  /** The bytes of one file through this cache. */
  open(fill: FillBuffer): ReadBytes {
    // Page numbers stay below 2^32 for files of up to 2^46 bytes, so that both fit into one number.
    const owner = (owners += 1) * 2 ** 32;
    // Most reads are of the page that the one before was of.
    let latest: Page | undefined;
    const bytesOf = (number: number): Buffer => {
      const key = owner + number;
      if (latest?.key !== key) latest = this.#page(key, number, fill);
      return latest.bytes;
    };
    return (position, length) => {
      const first = Math.floor(position / pageBytes);
      const last = Math.floor((position + length - 1) / pageBytes);
      const start = position - first * pageBytes;
      if (last <= first) return bytesOf(first).subarray(start, start + length);
      const bytes = Buffer.allocUnsafe(length);
      if (last - first >= mostPages) return fill(bytes, position);
      let filled = bytesOf(first).subarray(start).copy(bytes);
      for (let page = first + 1; page <= last; page++) filled += bytesOf(page).copy(bytes, filled);
      return bytes.subarray(0, filled);
    };
  }

  clear(): void {
    for (const page of this.#pages.values()) page.key = noPage;
    this.#pages.clear();
  }

  #page(key: number, number: number, fill: FillBuffer): Page {
    const known = this.#pages.get(key);
    if (known !== undefined) {
      known.isUsed = true;
      return known;
    }
    const buffer = this.#unusedBuffer();
    const page = { key, buffer, bytes: fill(buffer, number * pageBytes), isUsed: false };
    this.#pages.set(key, page);
    return page;
  }

  /** That of a page that is dropped for it, once there are as many as there may be: what is thrown away piles up. */
  #unusedBuffer(): Buffer {
    if (this.#pages.size < this.#maxPages) return Buffer.allocUnsafeSlow(pageBytes);
    // Those that were used get a second chance, behind all others, so that this ends after one round. To keep them in the
    // order of their use would be a change of the map for every read.
    for (const [key, page] of this.#pages) {
      this.#pages.delete(key);
      if (!page.isUsed) {
        page.key = noPage;
        return page.buffer;
      }
      page.isUsed = false;
      this.#pages.set(key, page);
    }
    return Buffer.allocUnsafeSlow(pageBytes);
  }
}
