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

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    // A copy, so that a short tail does not keep a whole chunk in memory.
    this.#tail = Buffer.concat([this.#tail, chunk.subarray(-this.#maxBytes)]).subarray(-this.#maxBytes);
  }

  /** What was kept, without white space at its ends; a character torn by the bound is left out. */
  text(): string {
    return new TextDecoder('utf-8')
      .decode(this.#tail)
      .replace(/^\uFFFD+/u, '')
      .trim();
  }
}
