/** The time of a simulation. It jumps from event to event; those of one moment come in the order in which they were set. */
export class Clock {
  nowMs = 0;
  #count = 0;
  /** A binary heap: each event is before the two at twice its place. */
  readonly #heap: { atMs: number; order: number; run: () => void }[] = [];

  after(delayMs: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ atMs: this.nowMs + delayMs, order: this.#count++, run });
    for (let at = heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) break;
      this.#swap(at, parent);
      at = parent;
    }
  }

  runUntil(endMs: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= endMs; next = this.#heap[0]) {
      this.#removeFirst();
      this.nowMs = next.atMs;
      next.run();
    }
    this.nowMs = endMs;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let at = 0; ;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (left < heap.length && this.#isBefore(left, first)) first = left;
      if (right < heap.length && this.#isBefore(right, first)) first = right;
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.atMs === b.atMs ? a.order < b.order : a.atMs < b.atMs;
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return;
    this.#heap[one] = b;
    this.#heap[other] = a;
  }
}

/** Cores that do one job each at a time, first come, first served. */
export class Processor {
  readonly #clock: Clock;
  #free: number;
  #waiting: { tookMs: number; done: () => void }[] = [];
  #next = 0;

  constructor(clock: Clock, cores: number) {
    this.#clock = clock;
    this.#free = cores;
  }

  work(tookMs: number, done: () => void): void {
    this.#waiting.push({ tookMs, done });
    this.#begin();
  }

  #begin(): void {
    while (this.#free > 0) {
      const job = this.#waiting[this.#next];
      if (job === undefined) break;
      this.#next += 1;
      this.#free -= 1;
      this.#clock.after(job.tookMs, () => {
        this.#free += 1;
        job.done();
        this.#begin();
      });
    }
    if (this.#next > 1000 && 2 * this.#next > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#next);
      this.#next = 0;
    }
  }
}

/** Numbers from 0 to 1 that follow from a seed. Source: mulberry32, by Tommy Ettinger. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
