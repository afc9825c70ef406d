import { fstatSync } from 'node:fs';
import { PageCache } from '../page-cache.ts';
import type { ReadBytes } from '../page-cache.ts';
import { OpenFiles, readAt } from './open-files.ts';

const openFilesLimit = 64;
const cachedBytes = 4 * 1024 * 1024;

/**
 * The packs of a store and their indexes as bytes: a bounded number of open files, and of bytes that are kept.
 *
 * File system errors come through as they are.
 */
export class PackFiles {
  readonly #open: OpenFiles = new OpenFiles(openFilesLimit);
  readonly #cache: PageCache = new PageCache(cachedBytes);

  /** The bytes of a file. Whoever asks again for the same name after git replaced the file gets those of the new one. */
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
