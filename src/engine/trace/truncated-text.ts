/** What several may use together: bytes of texts, or a number of things. */
export class Budget {
  #left: number;

  constructor(amount: number) {
    this.#left = amount;
  }

  /** Takes as much of what is wanted as is left, and says how much that is. */
  take(wanted: number): number {
    const granted = Math.min(wanted, this.#left);
    this.#left -= granted;
    return granted;
  }
}

/** How much of a text is kept, in bytes of UTF-8: so much of its beginning, and of its end. */
export type KeptBytes = { head: number; tail: number };

const nothing = Buffer.alloc(0);

/** Small pieces are joined when there are so many of them. */
const MAX_PIECES = 256;

/**
 * A text that arrives in pieces, of which no more is kept than may be: its beginning and its end.
 *
 * Needs memory for what it keeps and no more, whatever the size and the number of the pieces. Halves of characters that
 * belong to no other half become U+FFFD.
 */
export class KeptText {
  readonly #limits: KeptBytes;
  readonly #budget: Budget | undefined;
  readonly #head = new Pieces();
  #older: Buffer = nothing;
  #newer: Pieces | undefined;
  #tailLimit: number | undefined;
  #totalBytes = 0;
  /** The first half of a character whose second half is in the next piece. */
  #half = '';

  /** @param budget what this text shares with others; absent: its own limits alone hold */
  constructor(limits: KeptBytes, budget?: Budget) {
    this.#limits = limits;
    this.#budget = budget;
  }

  /** Bytes of all that was added. */
  get totalBytes(): number {
    return this.#totalBytes;
  }

  add(piece: string): void {
    const text = this.#half + piece;
    const isCut = endsInHalf(text);
    this.#half = isCut ? text.slice(-1) : '';
    this.#append(Buffer.from(isCut ? text.slice(0, -1) : text));
  }

  #append(bytes: Buffer): void {
    this.#totalBytes += bytes.length;
    const room = Math.min(bytes.length, this.#limits.head - this.#head.size);
    const granted = this.#isCut ? 0 : (this.#budget?.take(room) ?? room);
    if (granted > 0) this.#head.add(bytes.subarray(0, granted));
    if (granted < bytes.length) this.#addToTail(bytes.subarray(granted));
  }

  /** The text; where something was left out, a line in its place says how much. */
  toString(): string {
    if (this.#half !== '') {
      this.#append(Buffer.from(this.#half));
      this.#half = '';
    }
    const head = this.#head.join();
    const tail = Buffer.concat([this.#older, this.#newer?.join() ?? nothing]).subarray(-(this.#tailLimit || Infinity));
    const omitted = this.#totalBytes - head.length - tail.length;
    if (omitted <= 0) return Buffer.concat([head, tail]).toString();
    const before = head.subarray(0, lengthOfWhole(head)).toString();
    const after = tail.subarray(startOfWhole(tail)).toString();
    return `${before}\n[uwf left ${omitted} bytes out here]\n${after}`;
  }

  /** Once something went past the head, what follows belongs behind it. */
  get #isCut(): boolean {
    return this.#tailLimit !== undefined;
  }

  #addToTail(bytes: Buffer): void {
    this.#tailLimit ??= this.#budget?.take(this.#limits.tail) ?? this.#limits.tail;
    if (this.#tailLimit === 0) return;
    this.#newer ??= new Pieces();
    this.#newer.add(bytes.subarray(-this.#tailLimit));
    if (this.#newer.size < this.#tailLimit) return;
    this.#older = copyOf([this.#newer.join().subarray(-this.#tailLimit)]);
    this.#newer.clear();
  }
}

/** Bytes in pieces. Each is copied: a part of a larger buffer would keep all of that in memory. */
class Pieces {
  #pieces: Buffer[] = [];
  size = 0;

  add(bytes: Buffer): void {
    this.#pieces.push(copyOf([bytes]));
    this.size += bytes.length;
    if (this.#pieces.length >= MAX_PIECES) this.join();
  }

  join(): Buffer {
    const joined = this.#pieces.length === 1 ? this.#pieces[0] : undefined;
    if (joined !== undefined) return joined;
    const all = copyOf(this.#pieces);
    this.#pieces = [all];
    return all;
  }

  clear(): void {
    this.#pieces = [];
    this.size = 0;
  }
}

function copyOf(pieces: readonly Buffer[]): Buffer {
  // Node's other allocators cut small buffers out of shared ones, of which a single byte keeps all in memory.
  const copy = Buffer.allocUnsafeSlow(pieces.reduce((size, piece) => size + piece.length, 0));
  let position = 0;
  for (const piece of pieces) position += piece.copy(copy, position);
  return copy;
}

function endsInHalf(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}

/** How many bytes there are before a character that is cut off at the end. */
function lengthOfWhole(bytes: Buffer): number {
  let start = bytes.length - 1;
  while (start >= 0 && isContinuation(bytes[start])) start -= 1;
  const first = bytes[start] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return start + length > bytes.length ? Math.max(start, 0) : bytes.length;
}

/** Where the first character begins that is not cut off. */
function startOfWhole(bytes: Buffer): number {
  let start = 0;
  while (start < bytes.length && isContinuation(bytes[start])) start += 1;
  return start;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
