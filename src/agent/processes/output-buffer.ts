import { StringDecoder } from 'node:string_decoder';

/** Keeps the last bytes that a program writes. */
export class OutputTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isCut = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    // Cutting now and then, not at each chunk, keeps the work in proportion to what is written.
    if (this.#bytes > 2 * this.#maxBytes + 65_536) this.#cut();
  }

  /** True once more was written than is kept. */
  get isCut(): boolean {
    return this.#isCut || this.#bytes > this.#maxBytes;
  }

  /** What is kept, as UTF-8, from the start of a character on. */
  text(): string {
    this.#cut();
    const all = Buffer.concat(this.#chunks);
    const start = this.#isCut ? all.findIndex((byte) => (byte & 0xc0) !== 0x80) : 0;
    return new StringDecoder('utf8').write(all.subarray(Math.max(start, 0)));
  }

  /**
   * What is kept, without white space at its ends. A word torn by the bound is left out: the rest of a secret is not
   * recognised as one.
   */
  words(): string {
    const text = this.text();
    return (this.#isCut ? text.replace(/^\S{1,1024}/u, '') : text).trim();
  }

  #cut(): void {
    if (this.#bytes <= this.#maxBytes) return;
    const kept = Buffer.concat(this.#chunks).subarray(this.#bytes - this.#maxBytes);
    // A copy, so that a short tail does not keep whole chunks in memory.
    this.#chunks = [Buffer.from(kept)];
    this.#bytes = kept.length;
    this.#isCut = true;
  }
}
