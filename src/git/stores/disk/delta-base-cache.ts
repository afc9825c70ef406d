import type { GitObject } from '../../format/object-id.ts';

/**
 * Keeps the bases of deltas, up to a number of bytes. The least recently used base is dropped first.
 *
 * Neighbours in a history share bases; without the cache a walk inflates the same chains repeatedly.
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
    // A large object would push out all others.
    if (object.data.byteLength > this.#maxBytes / 4) return;
    const key = `${packSerial}:${offset}`;
    this.#remove(key);
    this.#objects.set(key, { type: object.type, data: alone(object.data) });
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

/** Copies bytes that share their memory with others, because keeping them would keep all of it. */
function alone(data: Uint8Array): Uint8Array {
  return data.buffer.byteLength > data.byteLength + 64 ? new Uint8Array(data) : data;
}
