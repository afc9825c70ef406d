/**
 * Keeps the values that were used last, up to a number of bytes.
 *
 * There are two halves. When the newer one is full, it becomes the older one, and the values of the older one that were not
 * used meanwhile are dropped together: to find the oldest entry of a map, V8 passes all that were deleted before it.
 */
export class RecentlyUsed<K, V> {
  readonly #halfBytes: number;
  #newer = new Map<K, { value: V; bytes: number }>();
  #older = new Map<K, { value: V; bytes: number }>();
  #newerBytes = 0;

  constructor(maxBytes: number) {
    this.#halfBytes = maxBytes / 2;
  }

  get(key: K): V | undefined {
    const known = this.#newer.get(key);
    if (known !== undefined) return known.value;
    const old = this.#older.get(key);
    if (old !== undefined) this.set(key, old.value, old.bytes);
    return old?.value;
  }

  /** Keeps a value. One that takes more than half of the room is not kept. */
  set(key: K, value: V, bytes: number): void {
    if (bytes > this.#halfBytes) return;
    if (this.#newerBytes + bytes > this.#halfBytes) {
      this.#older = this.#newer;
      this.#newer = new Map();
      this.#newerBytes = 0;
    }
    this.#newerBytes += bytes - (this.#newer.get(key)?.bytes ?? 0);
    this.#newer.set(key, { value, bytes });
  }
}
