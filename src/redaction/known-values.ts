import { orElse } from '../or-else.ts';
import type { SecretMatch } from './redactor.ts';
import { looksRandom, strange, strangenessOf } from './rules/rule.ts';

/** Shorter values occur in texts by chance. They are not redacted; `uwf doctor` names them. */
export const MIN_KNOWN = 12;
/** A longer value is looked for in parts, so that what a stream holds back has a bound. */
const MAX_PART = 320;
/** In code units of JSON in JSON, or in percents of UTF-8. */
const MAX_ENCODED = 4096;
/** JSON in JSON in a URL. Text is hardly ever escaped more often. */
const MAX_DEPTH = 3;

/** Tells whether a known value can be taken out of texts: long enough, and no word, path or number. */
export function isRedactable(value: string): boolean {
  const bare = value.trim();
  if (bare.length < MIN_KNOWN) return false;
  const isNumber = /^[\d.,_:/TZ +-]+$/.test(bare);
  // Three words and more are a phrase, which is not met by chance.
  const isWord = /^[\p{L}_.-]+(?: [\p{L}_.-]+)?$/u.test(bare) && strangenessOf(bare) < strange;
  const isPath = /^(?:[A-Za-z]:|~|\.{1,2})?[/\\]/.test(bare) && /^[\w.@ +:~/\\-]+$/.test(bare) && !looksRandom(bare);
  return !isNumber && !isWord && !isPath;
}

/** A line that may go on ends here, perhaps between the two characters of its end. */
const wrapped = /[\w+/-]{4}(?:\r?\n|\r$|(?:\\{1,8}r)?\\{1,8}n)[ \t]{0,40}$/;

/** A text that a value can look like. `isCut`: its last character is shared with what follows, and left out. */
type Encoding = { text: string; isBase64: boolean; isCut: boolean };

/** `isJson`: without the white space that the text may have. */
type Pattern = Encoding & { secret: string; hasBlank: boolean; isJson?: boolean };

/** Finds exact values in a text, also where they are escaped or in base64. */
export class KnownValues {
  /** By a hash of three characters: how far on the next value can end at the earliest. Source: Wu and Manber 1994. */
  readonly #shifts = new Uint8Array(1 << 15).fill(MIN_KNOWN - 2);
  readonly #patterns = new Map<number, Pattern[]>();
  readonly #all: Pattern[] = [];
  #hasBlanks = false;
  #hasJson = false;

  constructor(values: readonly string[]) {
    const redactable = values.filter(isRedactable);
    for (const value of new Set(redactable.flatMap(partsOf))) {
      for (const encoding of encodingsOf(value))
        this.#add({ ...encoding, secret: value, hasBlank: /\s/.test(encoding.text) });
    }
    // White space says nothing in JSON, so it is looked for without any, where there may be some.
    for (const text of redactable.flatMap((value) => inParts(squeezedJson(value) ?? ''))) {
      this.#hasJson = true;
      this.#add({ text, isBase64: false, isCut: false, secret: text, hasBlank: true, isJson: true });
    }
  }

  #add(pattern: Pattern): void {
    this.#all.push(pattern);
    this.#hasBlanks ||= pattern.hasBlank;
    for (let end = 3; end <= MIN_KNOWN; end++) {
      const hash = hashAt(pattern.text, end - 3);
      this.#shifts[hash] = Math.min(this.#shifts[hash] ?? 0, MIN_KNOWN - end);
      if (end < MIN_KNOWN) continue;
      const others = this.#patterns.get(hash);
      if (others === undefined) this.#patterns.set(hash, [pattern]);
      else others.push(pattern);
    }
  }

  find(text: string, matches: SecretMatch[]): void {
    if (this.#all.length === 0) return;
    this.#findIn(text, undefined, matches);
    for (const view of this.#views(text)) this.findIn(view, matches);
  }

  findIn(view: DecodedView, matches: SecretMatch[]): void {
    if (this.#all.length > 0) this.#findIn(view.text, view, matches);
  }

  /** Where a value begins that may continue behind the end of the text. The text ends with white space. */
  openFrom(text: string): number {
    const ending = text.slice(-64);
    // Mostly nothing is open: no value has a blank in it, and no line of base64 ends here.
    if (!this.#hasBlanks && !ending.includes('%') && !wrapped.test(ending)) return text.length;
    const from = Math.max(0, text.length - MAX_ENCODED);
    const tail = text.slice(from);
    let open = tail.length;
    for (const view of [undefined, ...this.#views(tail)]) {
      const at = this.#openIn(view?.text ?? tail);
      if (at !== undefined) open = Math.min(open, view?.placeOf(at).start ?? at);
    }
    return from + open;
  }

  /** The text with its escapes decoded, as often and in whatever order there are any, and with lines of base64 joined. */
  *#views(text: string, depth: number = MAX_DEPTH, view?: DecodedView): Generator<DecodedView> {
    const joined = unwrapLines(text, view);
    if (joined !== undefined) yield joined;
    const squeezed = this.#hasJson ? squeezeJson(text, view) : undefined;
    if (squeezed !== undefined) yield squeezed;
    if (depth === 0) return;
    for (const decode of [decodeJson, decodePercents]) {
      const decoded = decode(text, view);
      if (decoded === undefined) continue;
      yield decoded;
      yield* this.#views(decoded.text, depth - 1, decoded);
    }
  }

  #findIn(text: string, view: DecodedView | undefined, matches: SecretMatch[]): void {
    const shifts = this.#shifts;
    for (let at = MIN_KNOWN - 3; at + 3 <= text.length;) {
      const shift = shifts[hashAt(text, at)] ?? 1;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const start = at + 3 - MIN_KNOWN;
      for (const pattern of this.#patterns.get(hashAt(text, at)) ?? []) {
        if (!text.startsWith(pattern.text, start)) continue;
        const end = start + pattern.text.length + tailOf(pattern, text, start + pattern.text.length);
        matches.push({
          rule: 'known',
          start: view === undefined ? start : view.placeOf(start).start,
          end: view === undefined ? end : view.placeOf(end - 1).end,
          secret: pattern.secret,
          layer: 0,
        });
      }
      at++;
    }
  }

  /** Where the end of the text may be the beginning of a value. */
  #openIn(text: string): number | undefined {
    const isWrapped = wrapped.test(text.slice(-64));
    let open: number | undefined;
    for (const { text: pattern, hasBlank, isJson } of this.#all) {
      if (!isWrapped && !hasBlank) continue;
      const whole = hasBlank && isJson !== true ? text : text.trimEnd();
      for (let at = Math.max(0, whole.length - pattern.length + 1); at < (open ?? whole.length); at++) {
        if (whole[at] === pattern[0] && pattern.startsWith(whole.slice(at))) {
          open = at;
          break;
        }
      }
    }
    return open;
  }
}

function hashAt(text: string, at: number): number {
  return ((text.charCodeAt(at) & 31) << 10) | ((text.charCodeAt(at + 1) & 31) << 5) | (text.charCodeAt(at + 2) & 31);
}

/** The last character of base64 that the value shares with what follows, and the padding. */
function tailOf({ isBase64, isCut }: Pattern, text: string, at: number): number {
  if (!isBase64) return 0;
  const tail = isCut ? /^[A-Za-z0-9+/_-]?(?:={1,2}|(?:%3[Dd]){1,2})?/u : /^={0,2}/u;
  return tail.exec(text.slice(at, at + 8))?.[0].length ?? 0;
}

/** A value of several lines is also looked for line by line: a program that shows it may indent it. */
function partsOf(value: string): string[] {
  const lines = value.includes('\n')
    ? value
        .split(/\r?\n/u)
        .map((line) => line.trim())
        .filter(isRedactable)
    : [];
  return [...inParts(value), ...lines];
}

function inParts(value: string): string[] {
  const parts: string[] = [];
  for (let at = 0; at < value.length; at += MAX_PART) parts.push(value.slice(at, at + MAX_PART));
  return parts.filter((part) => part.length >= MIN_KNOWN);
}

/** What a value looks like plainly, in hexadecimal, and in base64 also of JSON and of a URL; other escapes are decoded. */
function encodingsOf(value: string): Encoding[] {
  const plain = [value, value.replaceAll(' ', '+'), value.replaceAll('\n', '\r\n')];
  const bytes = Buffer.from(value);
  const hex = bytes.toString('hex');
  const escaped = new Set([value, JSON.stringify(value).slice(1, -1), encodeURIComponent(bytes.toString())]);
  const base64 = [...escaped].flatMap((text) => [0, 1, 2].flatMap((before) => inBase64(Buffer.from(text), before)));
  const all = [
    ...[...plain, hex, hex.toUpperCase()].map((text) => ({ text, isBase64: false, isCut: false })),
    ...base64.map(({ text, isCut }) => ({ text, isBase64: true, isCut })),
  ];
  return all.filter(({ text }, at) => all.findIndex((other) => other.text === text) === at);
}

/** The characters that depend on the value alone, where so many bytes are before it, modulo three. */
function inBase64(bytes: Buffer, before: number): { text: string; isCut: boolean }[] {
  const all = Buffer.concat([Buffer.alloc(before), bytes]);
  // Of the bytes before, each has six bits in a character of its own or shares it with the value.
  const core = all.toString('base64').slice(before === 0 ? 0 : before + 1, Math.floor((all.length * 8) / 6));
  const isCut = all.length % 3 !== 0;
  return [core, core.replaceAll('+', '-').replaceAll('/', '_')].map((text) => ({ text, isCut }));
}

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
function decodeJson(text: string, below?: DecodedView): DecodedView | undefined {
  return text.includes('\\') ? replace(text, jsonEscapes, below, decodeEscape) : undefined;
}

/** Decodes what URLs make of characters, once: `%41`. @returns `undefined` where there is none */
function decodePercents(text: string, below?: DecodedView): DecodedView | undefined {
  return text.includes('%') ? replace(text, percents, below, decodePercent) : undefined;
}

/** Takes out the ends of lines where base64 may go on. */
function unwrapLines(text: string, below?: DecodedView): DecodedView | undefined {
  return replace(text, wraps, below, (_, __, at) =>
    lineOfBase64.test(text.slice(Math.max(0, at - 8), at)) ? { decoded: '', length: undefined } : undefined,
  );
}

/** Takes out the white space around the signs of JSON. */
function squeezeJson(text: string, below?: DecodedView): DecodedView | undefined {
  return replace(text, blanksInJson, below, () => ({ decoded: '', length: undefined }));
}

/** @returns `undefined` if it is no object or list in JSON */
function squeezedJson(value: string): string | undefined {
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
