import { orElse } from '../../or-else.ts';

/** Where a part of the decoded text begins, its place in the text as it is, and whether it is an escape there. */
export type Part = { at: number; from: number; until: number; isEscape: boolean };

/** A text with its escapes decoded, which knows where each of its characters was in the text as it is. */
export class DecodedView {
  readonly text: string;
  readonly #parts: readonly Part[];
  readonly #below: DecodedView | undefined;

  constructor(text: string, parts: readonly Part[], below: DecodedView | undefined) {
    this.text = text;
    this.#parts = parts;
    this.#below = below;
  }

  /** Where the character at a place begins and ends in the text as it is. */
  placeOf(at: number): { start: number; end: number } {
    let [low, high] = [0, this.#parts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#parts[middle]?.at ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    const part = this.#parts[low];
    if (part === undefined) return { start: 0, end: 0 };
    const from = part.isEscape ? part.from : part.from + at - part.at;
    const until = part.isEscape ? part.until : from + 1;
    if (this.#below === undefined) return { start: from, end: until };
    return { start: this.#below.placeOf(from).start, end: this.#below.placeOf(until - 1).end };
  }
}

const jsonEscapes = /\\(?:u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|["'\\/bfnrt])/g;
const percents = /%[0-9A-Fa-f]{2}/g;
const wraps = /(?:\r?\n|(?:\\{1,8}r)?\\{1,8}n)[ \t]{0,40}(?=[\w+/=-])/g;
/** The end of a line of base64. */
const lineOfBase64 = /[\w+/-]{8}$/;
const blanksInJson = /(?<=["{}[\]:,])\s+|\s+(?=["{}[\]:,])/g;
const controls: Record<string, string> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/** Decodes what JSON and source code make of characters, once: `\n`, `\"`, `\u0041`. @returns `undefined` where there is none */
export function decodeJson(text: string, below?: DecodedView): DecodedView | undefined {
  return text.includes('\\') ? replace(text, jsonEscapes, below, decodeEscape) : undefined;
}

/** Decodes what URLs make of characters, once: `%41`. @returns `undefined` where there is none */
export function decodePercents(text: string, below?: DecodedView): DecodedView | undefined {
  return text.includes('%') ? replace(text, percents, below, decodePercent) : undefined;
}

/** Takes out the ends of lines where base64 may go on. */
export function unwrapLines(text: string, below?: DecodedView): DecodedView | undefined {
  return replace(text, wraps, below, (_, __, at) =>
    lineOfBase64.test(text.slice(Math.max(0, at - 8), at)) ? { decoded: '', length: undefined } : undefined,
  );
}

/** Takes out the white space around the signs of JSON. */
export function squeezeJson(text: string, below?: DecodedView): DecodedView | undefined {
  return replace(text, blanksInJson, below, () => ({ decoded: '', length: undefined }));
}

/** The same of a value. @returns `undefined` if it is no object or list in JSON */
export function squeezedJson(value: string): string | undefined {
  if (!/^\s*[{[]/.test(value)) return undefined;
  return orElse(() => JSON.parse(value) as unknown, undefined) === undefined
    ? undefined
    : value.trim().replaceAll(blanksInJson, '');
}

type Decoded = { decoded: string; length: number | undefined };

function replace(
  text: string,
  pattern: RegExp,
  below: DecodedView | undefined,
  decode: (escape: string, text: string, at: number) => Decoded | undefined,
): DecodedView | undefined {
  const parts: Part[] = [];
  const pieces: string[] = [];
  let [at, done] = [0, 0];
  const take = (piece: string, from: number, until: number, isEscape: boolean): void => {
    if (piece === '') return;
    parts.push({ at, from, until, isEscape });
    pieces.push(piece);
    at += piece.length;
  };
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const result = decode(match[0], text, match.index);
    if (result === undefined) continue;
    const { decoded, length = match[0].length } = result;
    take(text.slice(done, match.index), done, match.index, false);
    done = match.index + length;
    take(decoded, match.index, done, true);
    pattern.lastIndex = done;
  }
  if (done === 0) return undefined;
  take(text.slice(done), done, text.length, false);
  return new DecodedView(pieces.join(''), parts, below);
}

function decodeEscape(escape: string): Decoded {
  const first = escape.charAt(1);
  const isCode = escape.length > 2;
  const decoded = isCode ? String.fromCharCode(Number.parseInt(escape.slice(2), 16)) : (controls[first] ?? first);
  return { decoded, length: undefined };
}

/** A character beyond ASCII is several bytes of UTF-8. */
function decodePercent(first: string, text: string, at: number): Decoded {
  const byte = Number.parseInt(first.slice(1), 16);
  const bytes = byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  const escape = text.slice(at, at + 3 * bytes);
  if (bytes > 1) {
    try {
      if (/^(?:%[0-9A-Fa-f]{2})+$/.test(escape)) return { decoded: decodeURIComponent(escape), length: escape.length };
    } catch {}
  }
  return { decoded: String.fromCharCode(byte), length: 3 };
}
