import { fstatSync } from 'node:fs';
import { PageCache } from '../../system/page-cache.ts';
import type { ReadBytes } from '../../system/page-cache.ts';
import { OpenFiles, readAt } from '../../system/open-files.ts';

const MAX_OPEN_FILES = 64;
const MAX_CACHED_BYTES = 4 * 1024 * 1024;

/**
 * Reads the packs of a store and their indexes, with bounded numbers of open files and cached bytes.
 *
 * File system errors come through as they are.
 */
export class PackFiles {
  readonly #open: OpenFiles = new OpenFiles(MAX_OPEN_FILES);
  readonly #cache: PageCache = new PageCache(MAX_CACHED_BYTES);

  /** A reader of a file. After git has replaced the file, a new reader of the same name reads the new file. */
  reader(path: string): ReadBytes {
    return this.#cache.open((buffer, position) => readAt(this.#open.open(path), buffer, position));
  }

  sizeOf(path: string): number {
    return fstatSync(this.#open.open(path)).size;
  }

  /** Closes a file, if it is open. */
  forget(path: string): void {
    this.#open.forget(path);
  }

  closeAll(): void {
    this.#open.closeAll();
    this.#cache.clear();
  }
}
