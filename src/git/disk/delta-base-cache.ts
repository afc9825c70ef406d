import type { GitObject } from '../object-id.ts';

/**
 * Keeps objects that deltas were applied to, up to a number of bytes, the least recently used one dropped first.
 *
 * Neighbours in a history share their bases, so that without it a walk inflates the same chain again and again.
 */
export class DeltaBaseCache {
  readonly #maxBytes: number;
  readonly #objects: Map<string, GitObject> = new Map();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(packSerial: number, offset: number): GitObject | undefined {
    const key = `${packSerial}:${offset}`;
    const object = this.#objects.get(key);
    if (object === undefined) return undefined;
    this.#objects.delete(key);
    this.#objects.set(key, object);
    return object;
  }

  set(packSerial: number, offset: number, object: GitObject): void {
    // One object that takes a large part of the room would push out everything else.
    if (object.data.byteLength > this.#maxBytes / 4) return;
    this.#remove(`${packSerial}:${offset}`);
    this.#objects.set(`${packSerial}:${offset}`, { type: object.type, data: alone(object.data) });
    this.#bytes += object.data.byteLength;
    while (this.#bytes > this.#maxBytes) {
      const [oldest] = this.#objects.keys();
      if (oldest === undefined) return;
      this.#remove(oldest);
    }
  }

  clear(): void {
    this.#objects.clear();
    this.#bytes = 0;
  }

  #remove(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#bytes -= object.data.byteLength;
  }
}

/** The bytes, in memory that holds nothing else: small ones share theirs, and would keep all of it. */
function alone(data: Uint8Array): Uint8Array {
  return data.buffer.byteLength > data.byteLength + 64 ? new Uint8Array(data) : data;
}
