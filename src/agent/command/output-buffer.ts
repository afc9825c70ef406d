/** Keeps the first bytes that a program writes, up to a bound. */
export class OutputBuffer {
  readonly #chunks: Buffer[] = [];
  readonly #maxBytes: number;
  #size = 0;
  #isFull = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes in what still fits; false once something did not. */
  add(chunk: Buffer): boolean {
    const room = this.#maxBytes - this.#size;
    if (chunk.length > room) this.#isFull = true;
    const part = chunk.subarray(0, room);
    this.#chunks.push(part);
    this.#size += part.length;
    return !this.#isFull;
  }

  /** True once more was written than may be. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** What was kept, as UTF-8 with a byte order mark kept; bytes that are not UTF-8 become U+FFFD. */
  text(): string {
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(Buffer.concat(this.#chunks));
  }
}

/** Keeps the last bytes that a program writes, for messages. */
export class OutputTail {
  readonly #maxBytes: number;
  #tail: Buffer = Buffer.alloc(0);
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    // A copy, so that a short tail does not keep a whole chunk in memory.
    const all = Buffer.concat([this.#tail, chunk.subarray(-this.#maxBytes)]);
    this.#isCut ||= all.length > this.#maxBytes || chunk.length > this.#maxBytes;
    this.#tail = all.subarray(-this.#maxBytes);
  }

  /**
   * What was kept, without white space at its ends. A word torn by the bound is left out: of a secret the rest is none that
   * can be known.
   */
  text(): string {
    const text = new TextDecoder('utf-8').decode(this.#tail);
    return (this.#isCut ? text.replace(/^\S{1,1024}/u, '') : text).trim();
  }
}
