import { closeSync, openSync, readSync } from 'node:fs';
import { READ } from './read-regular-file.ts';

/**
 * A bounded number of open files, the least recently used one closed first.
 *
 * A descriptor is valid until the next call of {@link OpenFiles.open}. Everything here is synchronous, so it is used before.
 */
export class OpenFiles {
  readonly #limit: number;
  readonly #descriptors: Map<string, number> = new Map();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The descriptor of a file, opened for reading if it is not open. File system errors come through as they are. */
  open(path: string): number {
    const known = this.#descriptors.get(path);
    if (known !== undefined) {
      this.#descriptors.delete(path);
      this.#descriptors.set(path, known);
      return known;
    }
    const descriptor = openSync(path, READ);
    this.#descriptors.set(path, descriptor);
    if (this.#descriptors.size > this.#limit) this.#closeOldest();
    return descriptor;
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
  }

  #closeOldest(): void {
    const [oldest] = this.#descriptors.keys();
    if (oldest !== undefined) this.forget(oldest);
  }
}

/** Reads from a position until the buffer is full or the file ends; returns the filled part. */
export function readAt(descriptor: number, buffer: Buffer, position: number): Buffer {
  let filled = 0;
  while (filled < buffer.byteLength) {
    const count = readSync(descriptor, buffer, filled, buffer.byteLength - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}
