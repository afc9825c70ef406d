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

const NEWLINE = 0x0a;

/** A program wrote more than it may. */
export class OutputFlood extends Error {}

/**
 * Reads a stream line by line, without the ends of the lines. The last line needs no end.
 * @param maxBytes of one line
 * @param onBytes told how many bytes have arrived; what it throws ends the reading
 * @throws {OutputFlood} at a longer line
 */
export async function* readOutputLines(
  stream: AsyncIterable<string | Uint8Array>,
  maxBytes: number,
  onBytes: (count: number) => void = () => {},
): AsyncGenerator<Buffer, void> {
  let parts: Buffer[] = [];
  let size = 0;
  for await (const piece of stream) {
    const chunk = Buffer.isBuffer(piece) ? piece : Buffer.from(piece);
    onBytes(chunk.length);
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...parts, chunk.subarray(start, end)]);
      [parts, size, start] = [[], 0, end + 1];
    }
    size += chunk.length - start;
    if (size > maxBytes) throw new OutputFlood(`a single message of more than ${maxBytes} bytes`);
    parts.push(chunk.subarray(start));
  }
  if (size > 0) yield Buffer.concat(parts);
}

/** The longest word that is left out with what was cut, in UTF-16 code units: longer than any token. */
const MAX_WORD = 4096;

/** How much of an agent's error is kept in a message. */
export const MAX_SAID_CHARACTERS = 4096;

/**
 * Shortens a text to its beginning and its end, and says so in the middle.
 * @param maxCharacters what is kept of it
 */
export function headAndTail(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text;
  const kept = new HeadAndTail(maxCharacters);
  kept.add(text);
  return kept.text();
}

/** Keeps the first and the last characters of a program's output. */
export class HeadAndTail {
  readonly #half: number;
  #head = '';
  #tail = '';
  #size = 0;

  constructor(maxCharacters: number) {
    this.#half = Math.floor(maxCharacters / 2);
  }

  add(text: string): void {
    this.#size += text.length;
    const room = this.#half - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    const rest = room > 0 ? text.slice(room) : text;
    if (rest === '') return;
    this.#tail += rest.slice(-this.#half);
    // Not each time: of a program that writes byte by byte the whole tail would be copied for each.
    if (this.#tail.length > 2 * this.#half) this.#tail = this.#tail.slice(-this.#half);
  }

  text(): string {
    const tail = this.#half === 0 ? '' : this.#tail.slice(-this.#half);
    const left = this.#size - this.#head.length - tail.length;
    return left === 0 ? this.#head + tail : joined(this.#head, left, tail);
  }
}

/**
 * Leaves out the words that the cut has torn as well: half of a secret is not known as one, and would be kept.
 * The words are at most a quarter of what is kept, so that a text without spaces still has a beginning and an end.
 */
function joined(head: string, left: number, tail: string): string {
  const headEnd = head.length - Math.min(/\S*$/u.exec(head.slice(-MAX_WORD))?.[0].length ?? 0, head.length >> 2);
  const tailStart = Math.min(/^\S*/u.exec(tail.slice(0, MAX_WORD))?.[0].length ?? 0, tail.length >> 2);
  const all = left + head.length - headEnd + tailStart;
  return `${whole(head.slice(0, headEnd))}\n[… ${all} characters were left out here …]\n${whole(tail.slice(tailStart))}`;
}

/** Without the half of a character that a cut leaves at either end. */
function whole(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/gu, '');
}

/** The beginning of a text, no longer than `maxCharacters`, without half a character at its end. */
export function cutText(text: string, maxCharacters: number): string {
  return text.length <= maxCharacters ? text : text.slice(0, maxCharacters).replace(/[\uD800-\uDBFF]$/u, '');
}
