import { randomUUID } from 'node:crypto';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { readAt } from '../disk/open-files.ts';
import { makeFolders } from '../make-folders.ts';
import { asStorageError } from '../object-errors.ts';

/** Bytes that are written one after the other, and then read at any place. */
export interface PackBytes {
  readonly byteLength: number;
  /** @throws {StorageFull} / {StorageReadOnly} */
  append(chunk: Uint8Array): void;
  /** The bytes at a place, fewer where they end; good until the next call. */
  read(position: number, length: number): Buffer;
  /** Lets go of them; calling twice is harmless. */
  close(): void;
}

/** Where bytes lie that are many: a folder of this machine's, or `undefined` for memory. */
export type Spool = { folder: string | undefined };

export function openPackBytes({ folder }: Spool): PackBytes {
  return folder === undefined ? new BytesInMemory() : new BytesInFile(folder);
}

/** A file without a name: it goes with the process that has it open, however that ends. */
class BytesInFile implements PackBytes {
  byteLength = 0;
  readonly #path: string;
  #descriptor: number | undefined;

  constructor(folder: string) {
    this.#path = join(folder, `tmp_pack_${randomUUID()}`);
    try {
      makeFolders(folder);
      this.#descriptor = openSync(this.#path, 'wx+', 0o600);
      unlinkSync(this.#path);
    } catch (error) {
      throw asStorageError(error, folder);
    }
  }

  append(chunk: Uint8Array): void {
    try {
      for (let written = 0; written < chunk.byteLength;) {
        const count = writeSync(this.#open(), chunk, written, chunk.byteLength - written, this.byteLength);
        written += count;
        this.byteLength += count;
      }
    } catch (error) {
      throw asStorageError(error, this.#path);
    }
  }

  read(position: number, length: number): Buffer {
    const size = Math.max(0, Math.min(length, this.byteLength - position));
    return readAt(this.#open(), Buffer.allocUnsafe(size), position);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  #open(): number {
    if (this.#descriptor === undefined) throw new Error('what was brought has been let go of');
    return this.#descriptor;
  }
}

class BytesInMemory implements PackBytes {
  byteLength = 0;
  #held: Buffer = Buffer.alloc(0);

  append(chunk: Uint8Array): void {
    const needed = this.byteLength + chunk.byteLength;
    if (needed > this.#held.byteLength) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#held.byteLength * 2, 64 * 1024));
      this.#held.copy(larger, 0, 0, this.byteLength);
      this.#held = larger;
    }
    this.#held.set(chunk, this.byteLength);
    this.byteLength = needed;
  }

  read(position: number, length: number): Buffer {
    return this.#held.subarray(position, Math.max(position, Math.min(position + length, this.byteLength)));
  }

  close(): void {
    this.byteLength = 0;
    this.#held = Buffer.alloc(0);
  }
}
