import { closeSync, fstatSync, openSync } from 'node:fs';
import { PageCache } from '../../system/page-cache.ts';
import type { ReadBytes } from '../../system/page-cache.ts';
import { readAt } from '../../system/read-at.ts';
import { READ } from '../../system/read-regular-file.ts';

const MAX_OPEN_FILES = 64;
const MAX_CACHED_BYTES = 4 * 1024 * 1024;

/**
 * Reads the packs of a store and their indexes, with bounded numbers of open files and cached bytes. The least recently used
 * file is closed first.
 *
 * File system errors come through as they are.
 */
export class PackFiles {
  readonly #descriptors: Map<string, number> = new Map();
  readonly #cache: PageCache = new PageCache(MAX_CACHED_BYTES);

  /** A reader of a file. After git has replaced the file, a new reader of the same name reads the new file. */
  reader(path: string): ReadBytes {
    return this.#cache.open((buffer, position) => readAt(this.#open(path), buffer, position));
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
    this.#cache.clear();
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
