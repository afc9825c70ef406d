/**
 * As PEM has it, also in a URL; PuTTY's; PEM in base64, as configurations of clusters have it; and how keys of OpenSSH, RSA,
 * EC and Ed25519 begin where the label is missing.
 */
const label =
  /-----BEGIN(?: |%20|\+)(?:[A-Z0-9]{1,20}(?: |%20|\+)){0,4}PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----|Private-Lines: \d{1,3}(?=[\s\\%])|LS0tLS1CRUdJTi(?=[A-Za-z0-9+/]{60})|(?<![A-Za-z0-9+/])(?=(?:b3BlbnNzaC1rZXktdjEA|MII[A-Za-z0-9+/]{3}IBA(?:AKC|DANBgkqhkiG9w0BAQEFAASC)|MIGHAgEAMBMGByqGSM49|MC4CAQAwBQYDK2VwBCIE)[A-Za-z0-9+/]{24})/y;
const openLabel = /^(?:-----BEGIN[A-Z0-9 %+]{0,100}-{0,4}|Private-Lines: \d{0,3}|LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,59})$/u;
const header = /[A-Z][A-Za-z-]{2,30}: ?[^\r\n\\]{0,300}/y;
/** Ends of lines, also escaped, and what code, quotations and differences put around lines. */
const around = /[\s"'`,>|#*]|%0[AaDd]|%5[Cc]n|\\{1,8}[nrt]|\\{1,8}(?=["'\s])|[+-](?=[\s"'`])|(?<=\n)-(?=[A-Za-z0-9+/])/;
const onlyAround = new RegExp(`^(?:${around.source})*$`);
const gap = new RegExp(`(?:${around.source})*`, 'y');
const word = /(?:[A-Za-z0-9+/=]|\\{1,8}\/|%2[BbFf]|%3[Dd])+/y;
const ending = /-{5,6}END[A-Z0-9 %+]{1,70}-----/y;
const lastLine = /-----END(?: [A-Z0-9]{1,20}){0,4} PRIVATE KEY(?: BLOCK)?-----/g;
const openEnding = /^-{1,6}$|^-{5,6}E[A-Z0-9 %+]{0,75}-{0,4}$/u;

/** The last line may be shorter, and the checksum of PGP; in prose all words are. */
const MIN_WORD = 16;

/** How far a block of a private key goes; `isOpen`: what follows can still belong to it. */
export type PemBlock = { end: number; isOpen: boolean; words: number };

const base64Start = 'LS0tLS1CRUdJTi';
const starts = [
  '-----BEGIN',
  'Private-Lines: ',
  base64Start,
  'b3BlbnNzaC1rZXktdjEA',
  'MII',
  'MIGHAgEAMBMG',
  'MC4CAQAwBQYDK2Vw',
];

/** Where blocks may begin, in no order. */
export function* pemStartsIn(text: string, from: number): Generator<number> {
  for (const start of starts) {
    for (let at = text.indexOf(start, from); at >= 0; at = text.indexOf(start, at + 1)) yield at;
  }
}

/**
 * Reads a private key in PEM, whole, encrypted, cut off, in JSON or in code.
 * @param isEnd nothing follows the text
 * @returns `undefined` if no key begins there
 */
export function readPemBlock(text: string, start: number, isEnd: boolean): PemBlock | undefined {
  label.lastIndex = start;
  const begin = label.exec(text);
  if (begin !== null) {
    const isKey =
      begin[0] !== base64Start || Buffer.from(text.slice(start, start + 72), 'base64').includes(' PRIVATE KEY');
    return isKey
      ? readBody(text, start + begin[0].length, 0, isEnd, prefixOf(text, start, start + begin[0].length, isEnd))
      : undefined;
  }
  const isOpen = !isEnd && text.length - start < 120 && openLabel.test(text.slice(start));
  return isOpen ? { end: start, isOpen, words: 0 } : undefined;
}

/**
 * Goes on where a block was read up to.
 * @param words how many lines of it were read before
 * @param prefix what is before each line, as the source of a regular expression
 */
export function readBody(text: string, from: number, words: number, isEnd: boolean, prefix = ''): PemBlock | undefined {
  let [at, end, read, short] = [from, from, words, 0];
  const between = prefix === '' ? gap : new RegExp(`(?:(?<=(?:\\n|\\\\n)[ \\t]*)${prefix}|${around.source})*`, 'y');
  const stop = (isOpen: boolean): PemBlock | undefined => {
    // The last line may have only a part of what is before each.
    const isBegun = prefix !== '' && !isEnd && text.length - at < MAX_PREFIX && !/\n|\\n/.test(text.slice(at));
    return isOpen || isBegun || read > 0 ? { end, isOpen: (isOpen || isBegun) && !isEnd, words: read } : undefined;
  };
  for (;;) {
    at += lengthAt(between, text, at);
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

/** Of what is before each line: `id_rsa:12:` of grep, the time of a log. */
const MAX_PREFIX = 200;

/** What is before a line of a key, as the source of a regular expression that lines with other numbers match too. */
function prefixAt(text: string, at: number): string {
  const before = text.slice(Math.max(0, at - MAX_PREFIX), at);
  const line = before.slice(
    Math.max(before.lastIndexOf('\n') + 1, before.lastIndexOf('\\n') + 2 * Number(before.includes('\\n'))),
  );
  if (onlyAround.test(line)) return '';
  return line.replaceAll(/[ \t]*\d+|[-:]|[^]/g, (part) => {
    if (/\d/.test(part)) return '[ \\t]*\\d+';
    return /[-:]/.test(part) ? '[-:]' : part.replace(/[.*+?^${}()|[\]\\/]/, '\\$&');
  });
}

/** The same, where the next line has it too: it may be the name of the key. */
function prefixOf(text: string, at: number, end: number, isEnd: boolean): string {
  const prefix = prefixAt(text, at);
  const next = /^[ \t"'`,+\\]{0,8}?(?:\r?\n|(?:\\{1,8}r)?\\{1,8}n)([^\n]*\n?)/.exec(
    text.slice(end, end + 2 * MAX_PREFIX),
  )?.[1];
  if (prefix === '' || (next === undefined && text.length - end > 20)) return '';
  const isMissing = !isEnd && text.length - end < MAX_PREFIX && next?.endsWith('\n') !== true;
  return isMissing || new RegExp(`^${prefix}`).test(next ?? '') ? prefix : '';
}

/** How many characters before its last line a key may begin whose beginning is missing. */
const MAX_TAIL = 8000;
const MAX_LINE = 600;
const longLine = /^[^]{0,2}[A-Za-z0-9+/]{40}={0,2}$/;
/** Tells whether so much of base64 ends a line as keys have in each but the last. */
const isLong = (line: string): boolean => longLine.test(line.slice(-42));

/** Finds the ends of keys whose beginnings are missing. */
export function* pemTailsIn(text: string): Generator<{ start: number; end: number }> {
  for (const match of text.matchAll(lastLine)) {
    const prefix = prefixAt(text, match.index);
    const line = new RegExp(`^[ \\t]*${prefix}(?:${around.source})*([A-Za-z0-9+/]+={0,2})$`);
    let start = match.index;
    const isEscaped = text.lastIndexOf('\\n', match.index) > text.lastIndexOf('\n', match.index);
    for (const { at, content } of linesBefore(text, match.index, isEscaped ? '\\n' : '\n')) {
      const [, word = ''] = line.exec(content) ?? [];
      if (word === '' || (start < match.index && !isLong(word))) break;
      // What is before the first line is no part of the key.
      start = at + content.length - word.length;
    }
    if (start < match.index) yield { start, end: match.index + match[0].length };
  }
}

/** Where lines begin that may be the end of a key whose last line is still to come. The text ends with white space. */
export function openTail(text: string): number {
  return Math.min(...['\n', '\\n'].map((lineBreak) => openLines(text, lineBreak)));
}

function openLines(text: string, lineBreak: string): number {
  const last = text.lastIndexOf(lineBreak) + lineBreak.length;
  let open = text.length;
  if (last < lineBreak.length || text.length - last > MAX_PREFIX) return open;
  for (const { at, content } of linesBefore(text, last, lineBreak)) {
    if (!isLong(content) && !(open === text.length && /[A-Za-z0-9+/]={0,2}$/.test(content))) break;
    open = at;
  }
  return open;
}

function* linesBefore(text: string, place: number, lineBreak: string): Generator<{ at: number; content: string }> {
  for (let end = text.lastIndexOf(lineBreak, place - 1); end > 0 && place - end < MAX_TAIL;) {
    const before = text.lastIndexOf(lineBreak, end - 1);
    // Lines whose ends are escaped are in one line.
    const at = Math.max(before < 0 ? 0 : before + lineBreak.length, text.lastIndexOf('\n', end - 1) + 1);
    if (end - at > MAX_LINE) return;
    yield { at, content: text.slice(at, end).replace(/[\s"'`,+\\]+$/, '') };
    end = before;
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
