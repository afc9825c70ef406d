/**
 * Reads bytes of a file that never changes; fewer at its end. They are valid until the next read and must not be written to.
 */
export type ReadBytes = (position: number, length: number) => Buffer;

/** Fills a buffer from a position on; returns the part that was filled. */
export type FillBuffer = (buffer: Buffer, position: number) => Buffer;

/** A page holds several small objects, so that neighbours are read with one call. */
const pageBytes = 16 * 1024;
/** A read of more pages goes past the cache. */
const MAX_PAGES = 4;

/** A page of a file; the last one is shorter. */
type Page = {
  /** The file and the page number; {@link noPage} once the page is dropped. */
  key: number;
  buffer: Buffer;
  bytes: Buffer;
};

const noPage = -1;

let owners = 0;

/**
 * Keeps pages of files that never change, up to a number of bytes. The oldest page is dropped first.
 *
 * Reading an object takes half a dozen reads of a few bytes (index, header), and each costs as much as reading its whole
 * page. The neighbours of an object are usually read next.
 */
export class PageCache {
  readonly #maxPages: number;
  /** By file and page number, the oldest first. */
  readonly #pages: Map<number, Page> = new Map();

  constructor(maxBytes: number) {
    this.#maxPages = Math.max(1, Math.floor(maxBytes / pageBytes));
  }

  /** The bytes of one file through this cache. */
  open(fill: FillBuffer): ReadBytes {
    // Page numbers stay below 2^32 for files of up to 2^46 bytes, so that both fit into one number.
    const owner = (owners += 1) * 2 ** 32;
    // Most reads are of the same page as the read before.
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
      if (last - first >= MAX_PAGES) return fill(bytes, position);
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
    if (known !== undefined) return known;
    const buffer = this.#unusedBuffer();
    const page = { key, buffer, bytes: fill(buffer, number * pageBytes) };
    this.#pages.set(key, page);
    return page;
  }

  /**
   * A new buffer, or that of a dropped page once the cache is full, because discarded buffers pile up until they are
   * collected.
   */
  #unusedBuffer(): Buffer {
    const [oldest] = this.#pages.values();
    if (oldest === undefined || this.#pages.size < this.#maxPages) return Buffer.allocUnsafeSlow(pageBytes);
    this.#pages.delete(oldest.key);
    oldest.key = noPage;
    return oldest.buffer;
  }
}
