import { closeSync, fstatSync, openSync } from 'node:fs';
import type { GitObject } from '../../format/object-id.ts';
import { readAt } from '../../system/read-at.ts';
import { READ } from '../../system/read-regular-file.ts';

const MAX_OPEN_FILES = 64;
/** A page holds several small objects, and nearly all of a small index. */
const PAGE_BYTES = 16 * 1024;
const MAX_PAGES = 256;
const MAX_BASES_BYTES = 16 * 1024 * 1024;

/** Reads bytes from a position on; fewer at the end of the file. They must not be written to. */
export type ReadPart = (position: number, length: number) => Buffer;

/**
 * What the packs of a store have in common: open files, pages of them, and the bases of deltas, which neighbours in a history
 * share. All are bounded, so that memory does not grow with the repository; the oldest goes first.
 *
 * File system errors come through as they are.
 */
export class PackFiles {
  readonly #descriptors = new Map<string, number>();
  readonly #pages = new Map<number, Buffer>();
  readonly #bases = new Map<string, GitObject>();
  #basesBytes = 0;
  #readers = 0;

  /** A reader of a file that does not change. After git has replaced the file, a new reader of the same path reads the new one. */
  reader(path: string): ReadPart {
    // Both numbers fit into one.
    const own = (this.#readers += 1) * 2 ** 32;
    const page = (number: number): Buffer => {
      let bytes = this.#pages.get(own + number);
      if (bytes === undefined) {
        if (this.#pages.size === MAX_PAGES) this.#pages.clear();
        bytes = readAt(this.#open(path), Buffer.allocUnsafeSlow(PAGE_BYTES), number * PAGE_BYTES);
        this.#pages.set(own + number, bytes);
      }
      return bytes;
    };
    return (position, length) => {
      const first = Math.floor(position / PAGE_BYTES);
      const start = position - first * PAGE_BYTES;
      if (start + length <= PAGE_BYTES) return page(first).subarray(start, start + length);
      if (length > PAGE_BYTES) return readAt(this.#open(path), Buffer.allocUnsafe(length), position);
      return Buffer.concat([page(first), page(first + 1)]).subarray(start, start + length);
    };
  }

  sizeOf(path: string): number {
    return fstatSync(this.#open(path)).size;
  }

  /** Closes a file, if it is open. */
  forget(path: string): void {
    const descriptor = this.#descriptors.get(path);
    if (descriptor === undefined) return;
    this.#descriptors.delete(path);
    closeSync(descriptor);
  }

  closeAll(): void {
    for (const path of this.#descriptors.keys()) this.forget(path);
    this.#pages.clear();
    this.#bases.clear();
    this.#basesBytes = 0;
  }

  base(key: string): GitObject | undefined {
    const base = this.#bases.get(key);
    // The one that was used last goes last.
    if (base !== undefined && this.#bases.delete(key)) this.#bases.set(key, base);
    return base;
  }

  keepBase(key: string, { type, data }: GitObject): void {
    // A large object would push out all others.
    if (data.byteLength > MAX_BASES_BYTES / 4 || this.#bases.has(key)) return;
    // A copy: it can be a part of a larger buffer, all of which would stay.
    this.#bases.set(key, { type, data: new Uint8Array(data) });
    this.#basesBytes += data.byteLength;
    for (const [oldest, base] of this.#bases) {
      if (this.#basesBytes <= MAX_BASES_BYTES) return;
      this.#bases.delete(oldest);
      this.#basesBytes -= base.data.byteLength;
    }
  }

  /** The descriptor of a file, valid until the next call. Everything here is synchronous, so it is used before. */
  #open(path: string): number {
    const descriptor = this.#descriptors.get(path) ?? openSync(path, READ);
    this.#descriptors.delete(path);
    this.#descriptors.set(path, descriptor);
    const [oldest] = this.#descriptors.keys();
    if (oldest !== undefined && this.#descriptors.size > MAX_OPEN_FILES) this.forget(oldest);
    return descriptor;
  }
}
