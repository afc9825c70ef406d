/** As PEM has it, also in a URL; PuTTY's; PEM in base64, as configurations of clusters have it. */
const label =
  /-----BEGIN(?: |%20|\+)(?:[A-Z0-9]{1,20}(?: |%20|\+)){0,4}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----|Private-Lines: \d{1,3}(?=[\s\\%])|LS0tLS1CRUdJTi(?=[A-Za-z0-9+/]{60})/y;
const openLabel = /^(?:-----BEGIN[A-Z0-9 %+]{0,100}-{0,4}|Private-Lines: \d{0,3}|LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,59})$/u;
const header = /[A-Z][A-Za-z-]{2,30}: ?[^\r\n\\]{0,300}/y;
/** Ends of lines, also escaped, and what code, quotations and differences put around lines. */
const gap =
  /(?:[\s"'`,>|#*]|%0[AaDd]|%5[Cc]n|\\{1,8}[nrt]|\\{1,8}(?=["'\s])|[+-](?=[\s"'`])|(?<=\n)-(?=[A-Za-z0-9+/]))*/y;
const word = /(?:[A-Za-z0-9+/=]|\\{1,8}\/|%2[BbFf]|%3[Dd])+/y;
const ending = /-{5,6}END[A-Z0-9 %+]{1,70}-----/y;
const openEnding = /^-{1,6}$|^-{5,6}E[A-Z0-9 %+]{0,75}-{0,4}$/u;

/** The last line may be shorter, and the checksum of PGP; in prose all words are. */
const MIN_WORD = 16;

/** How far a block of a private key goes; `isOpen`: what follows can still belong to it. */
export type PemBlock = { end: number; isOpen: boolean; words: number };

const base64Start = 'LS0tLS1CRUdJTi';

/** Where blocks may begin, in no order. */
export function* pemStartsIn(text: string, from: number): Generator<number> {
  for (const start of ['-----BEGIN', 'Private-Lines: ', base64Start]) {
    for (let at = text.indexOf(start, from); at >= 0; at = text.indexOf(start, at + 1)) yield at;
  }
}

/**
 * Reads a private key in PEM, whole, encrypted, cut off, in JSON or in code.
 *
 * @param start where it begins
 * @param isEnd nothing follows the text
 * @returns `undefined` if no key begins there
 */
export function readPemBlock(text: string, start: number, isEnd: boolean): PemBlock | undefined {
  label.lastIndex = start;
  const begin = label.exec(text);
  if (begin !== null) {
    const isKey =
      begin[0] !== base64Start || Buffer.from(text.slice(start, start + 72), 'base64').includes(' PRIVATE KEY');
    return isKey ? readBody(text, start + begin[0].length, 0, isEnd) : undefined;
  }
  const isOpen = !isEnd && text.length - start < 120 && openLabel.test(text.slice(start));
  return isOpen ? { end: start, isOpen, words: 0 } : undefined;
}

/**
 * Goes on where a block was read up to.
 *
 * @param words how many lines of it were read before
 */
export function readBody(text: string, from: number, words: number, isEnd: boolean): PemBlock | undefined {
  let [at, end, read, short] = [from, from, words, 0];
  const stop = (isOpen: boolean): PemBlock | undefined =>
    isOpen || read > 0 ? { end, isOpen: isOpen && !isEnd, words: read } : undefined;
  for (;;) {
    at += lengthAt(gap, text, at);
    if (at >= text.length) return isEnd ? stop(false) : stop(true);
    if (text[at] === '-') {
      const length = lengthAt(ending, text, at);
      if (length > 0) return read > 0 ? { end: at + length, isOpen: false, words: read } : undefined;
      return stop(!isEnd && text.length - at < 90 && openEnding.test(text.slice(at)));
    }
    const named = read === 0 ? lengthAt(header, text, at) : 0;
    if (named > 0) {
      if (!isEnd && at + named >= text.length) return stop(true);
      at += named;
      continue;
    }
    const length = lengthAt(word, text, at);
    if (length === 0) return stop(!isEnd && /^\\{1,8}$/u.test(text.slice(at)));
    if (at + length >= text.length && !isEnd) return stop(true);
    at += length;
    if (length >= MIN_WORD) {
      if (read === 0 && new Set(text.slice(at - length, at)).size < 6) return undefined;
      read++;
      short = 0;
      end = at;
    } else if (++short > 2) return stop(false);
  }
}

/** How much of base64 is at a place. */
export function lengthOfWord(text: string, at: number): number {
  return lengthAt(word, text, at);
}

function lengthAt(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}
