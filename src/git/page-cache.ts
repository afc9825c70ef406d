/** Reads bytes of something that never changes; fewer than asked for where it ends. */
export type ReadBytes = (position: number, length: number) => Buffer;

/** A file as large as a page of a few objects: what lies close together is read with one call. */
const pageBytes = 16 * 1024;
/** What spans more pages than this is read by itself, and not kept. */
const mostPages = 4;

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
  readonly #pages: Map<number, Buffer> = new Map();

  constructor(maxBytes: number) {
    this.#maxPages = Math.max(1, Math.floor(maxBytes / pageBytes));
  }

  /**
   * The bytes of one file through this cache, under the same terms as `load`, which reads them.
   *
   * What comes back belongs to the cache and must not be written to.
   */
  open(load: ReadBytes): ReadBytes {
    // Page numbers stay below 2^32 for files of up to 2^46 bytes, so that both fit into one number.
    const owner = (owners += 1) * 2 ** 32;
    return (position, length) => {
      const first = Math.floor(position / pageBytes);
      const last = Math.floor((position + length - 1) / pageBytes);
      const start = position - first * pageBytes;
      if (last <= first) return this.#page(owner, first, load).subarray(start, start + length);
      if (last - first >= mostPages) return load(position, length);
      const bytes = Buffer.allocUnsafe(length);
      let filled = this.#page(owner, first, load).subarray(start).copy(bytes);
      for (let page = first + 1; page <= last; page++) filled += this.#page(owner, page, load).copy(bytes, filled);
      return bytes.subarray(0, filled);
    };
  }

  clear(): void {
    this.#pages.clear();
  }

  #page(owner: number, page: number, load: ReadBytes): Buffer {
    const key = owner + page;
    let bytes = this.#pages.get(key);
    if (bytes === undefined) bytes = load(page * pageBytes, pageBytes);
    else this.#pages.delete(key);
    this.#pages.set(key, bytes);
    if (this.#pages.size > this.#maxPages) this.#dropOldest();
    return bytes;
  }

  #dropOldest(): void {
    const [oldest] = this.#pages.keys();
    if (oldest !== undefined) this.#pages.delete(oldest);
  }
}
