import { reach } from './finder.ts';
import type { Finder } from './finder.ts';
import { lengthOfWord, readBody, readPemBlock } from './rules/pem-block.ts';
import type { RedactingStream } from './redactor.ts';
import { MAX_BLOCK, settle } from './secret-match.ts';
import type { Settlement, Settled } from './secret-match.ts';

/** How many characters of a run without white space are held back. */
const MAX_RUN = 4096;

/**
 * Returns the same text for a whole text and for its pieces, however it is cut.
 *
 * A match contains no white space and has a limited length. So text before the last white space is settled, and text further
 * from the end than any match is long. Private keys, known values with blanks, and a user's own rules are asked for where
 * they are still open. Part of the returned text is kept, because rules look at the text before a secret.
 */
export class RedactingText implements RedactingStream {
  readonly #finder: Finder;
  readonly #markOf: (settled: Settled) => string;
  /** What is remembered, and what is held back. */
  #text = '';
  /** Findings that begin before are settled. */
  #from = 0;
  /** Where the run without white space at the end begins. */
  #run = 0;
  /** How far the beginning of the text is from the beginning of its line. */
  #column = 0;
  #progress: Settlement = { done: 0, blockEnd: 0 };
  #isHeldByBlock = false;
  /** A block whose mark was given before its end was known: up to where it is read. */
  #block: { at: number; isInWord: boolean } | undefined;
  #hits = 0;

  constructor(finder: Finder, markOf: (settled: Settled) => string) {
    this.#finder = finder;
    this.#markOf = markOf;
  }

  get hits(): number {
    return this.#hits;
  }

  write(piece: string): string {
    const blank = lastBlank(piece);
    if (blank >= 0) this.#run = this.#text.length + blank + 1;
    this.#text += piece;
    const given = this.#block !== undefined && !this.#readBlock(false) ? '' : this.#giveSettled(piece);
    this.#forget((this.#block?.at ?? this.#from) - this.#finder.memory);
    return given;
  }

  end(): string {
    if (this.#block !== undefined) this.#readBlock(true);
    const given = this.#give(this.#text.length, true);
    this.#forget(this.#text.length);
    this.#column = 0;
    return given;
  }

  #giveSettled(piece: string): string {
    const { length } = this.#text;
    if (this.#isHeldByBlock && length - this.#from <= MAX_BLOCK + MAX_RUN && /^[^\n\\-]*$/u.test(piece)) return '';
    let until = Math.max(this.#run, this.#from);
    if (length - until > MAX_RUN) until = this.#notInPair(length - reach.match);
    if (until <= this.#from) return '';
    const open = this.#finder.openFrom(this.#text, this.#from, until, this.#column);
    const block = open < until ? readPemBlock(this.#text, open, false) : undefined;
    this.#isHeldByBlock = block?.isOpen === true;
    const given = this.#give(Math.min(open, until), false);
    if (block?.isOpen !== true || length - open <= MAX_BLOCK + MAX_RUN) return given;
    this.#block = { at: block.end, isInWord: false };
    const match = { rule: 'private-key', start: open, end: length, layer: 2 };
    return given + this.#replace([match], length);
  }

  /** Gives what is settled up to a place. */
  #give(until: number, isEnd: boolean): string {
    if (until <= this.#from) return '';
    const all = this.#finder.find(this.#text, isEnd, { column: this.#column });
    const settled = all.filter(({ start }) => start >= this.#from && start < until);
    return this.#replace(settled, until);
  }

  #replace(matches: Parameters<typeof settle>[1], until: number): string {
    let given = '';
    let done = Math.max(this.#progress.done, this.#from);
    for (const settled of settle(this.#text, matches, this.#progress)) {
      given += this.#text.slice(done, settled.start) + this.#markOf(settled);
      done = settled.end;
      this.#hits++;
    }
    this.#from = until;
    return done < until ? given + this.#text.slice(done, until) : given;
  }

  /** Reads on in a block whose mark was given. @returns whether its end was found */
  #readBlock(isEnd: boolean): boolean {
    const { at, isInWord } = this.#block ?? { at: 0, isInWord: false };
    const from = isInWord ? at + lengthOfWord(this.#text, at) : at;
    const block =
      isInWord && from === this.#text.length ? { end: from, isOpen: !isEnd } : readBody(this.#text, from, 1, isEnd);
    const end = block?.end ?? from;
    if (block?.isOpen === true) {
      const isLong = this.#text.length - end > MAX_BLOCK || (isInWord && end === this.#text.length);
      this.#block = isLong ? { at: this.#text.length, isInWord: true } : { at: end, isInWord: false };
      return false;
    }
    this.#block = undefined;
    this.#isHeldByBlock = false;
    this.#from = end;
    this.#progress = { done: end, blockEnd: end };
    return true;
  }

  #forget(before: number): void {
    if (before <= 0) return;
    const line = this.#text.lastIndexOf('\n', before - 1);
    this.#column = line < 0 ? this.#column + before : before - line - 1;
    this.#text = this.#text.slice(before);
    this.#from -= before;
    this.#run -= before;
    this.#progress = { done: this.#progress.done - before, blockEnd: this.#progress.blockEnd - before };
    if (this.#block !== undefined) this.#block.at -= before;
  }

  /** The place, or the one before it if it is between the two halves of a character. */
  #notInPair(at: number): number {
    const code = this.#text.charCodeAt(at);
    return code >= 0xdc00 && code < 0xe000 ? at - 1 : at;
  }
}

function lastBlank(piece: string): number {
  for (let at = piece.length - 1; at >= 0; at--) {
    const code = piece.charCodeAt(at);
    if (code === 32 || code === 10 || code === 13 || code === 9) return at;
  }
  return -1;
}
