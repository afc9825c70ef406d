import { decodeJson, decodePercents, unwrapLines } from './decoded-view.ts';
import type { DecodedView } from './decoded-view.ts';
import type { Finding } from './finding.ts';
import { encodingsOf } from './encodings.ts';
import { looksRandom, strange, strangenessOf } from './looks-random.ts';

/** What is shorter is found by chance, and said to the person instead. */
export const shortestKnown = 12;
/** A longer value is looked for in parts, so that what a stream holds back has a bound. */
const longest = 320;
/** In code units of JSON in JSON, or in percents of UTF-8. */
const longestEncoded = 4096;
/** JSON in JSON in a URL; deeper is hardly ever text. */
const deepest = 3;

/** Tells whether a known value can be taken out of texts: long enough, and no word, path or number. */
export function isRedactable(value: string): boolean {
  const bare = value.trim();
  if (bare.length < shortestKnown) return false;
  const isNumber = /^[\d.,_:/TZ +-]+$/.test(bare);
  // Three words and more are a phrase, which is not met by chance.
  const isWord = /^[\p{L}_.-]+(?: [\p{L}_.-]+)?$/u.test(bare) && strangenessOf(bare) < strange;
  const isPath = /^(?:[A-Za-z]:|~|\.{1,2})?[/\\]/.test(bare) && /^[\w.@ +:~/\\-]+$/.test(bare) && !looksRandom(bare);
  return !isNumber && !isWord && !isPath;
}

/** A line that may go on ends here, perhaps between the two characters of its end. */
const wrapped = /[\w+/-]{4}(?:\r?\n|\r$|(?:\\{1,8}r)?\\{1,8}n)[ \t]{0,40}$/;

type Pattern = { text: string; secret: string; isBase64: boolean; isCut: boolean; hasBlank: boolean };

/** Finds exact values in a text, also where they are escaped or in base64. */
export class KnownValues {
  /** By a hash of three characters: how far on the next value can end at the earliest. Source: Wu and Manber 1994. */
  readonly #shifts = new Uint8Array(1 << 15).fill(shortestKnown - 2);
  readonly #patterns = new Map<number, Pattern[]>();
  readonly #all: Pattern[] = [];
  #hasBlanks = false;

  constructor(values: readonly string[]) {
    for (const value of new Set(values.filter(isRedactable).flatMap(partsOf))) {
      for (const { text, isBase64, isCut } of encodingsOf(value))
        this.#add({ text, secret: value, isBase64, isCut, hasBlank: /\s/.test(text) });
    }
  }

  #add(pattern: Pattern): void {
    this.#all.push(pattern);
    this.#hasBlanks ||= pattern.hasBlank;
    for (let end = 3; end <= shortestKnown; end++) {
      const hash = hashAt(pattern.text, end - 3);
      this.#shifts[hash] = Math.min(this.#shifts[hash] ?? 0, shortestKnown - end);
      if (end < shortestKnown) continue;
      const others = this.#patterns.get(hash);
      if (others === undefined) this.#patterns.set(hash, [pattern]);
      else others.push(pattern);
    }
  }

  find(text: string, findings: Finding[]): void {
    if (this.#all.length === 0) return;
    this.#findIn(text, undefined, findings);
    for (const view of this.#views(text)) this.#findIn(view.text, view, findings);
  }

  /** Where a value begins that may go on behind the end of the text, which is white space. */
  openFrom(text: string): number {
    const ending = text.slice(-64);
    // Mostly nothing is open: no value has a blank in it, and no line of base64 ends here.
    if (!this.#hasBlanks && !ending.includes('%') && !wrapped.test(ending)) return text.length;
    const from = Math.max(0, text.length - longestEncoded);
    const tail = text.slice(from);
    let open = tail.length;
    for (const view of [undefined, ...this.#views(tail)]) {
      const at = this.#openIn(view?.text ?? tail);
      if (at !== undefined) open = Math.min(open, view?.placeOf(at).start ?? at);
    }
    return from + open;
  }

  /** The text with its escapes decoded, as often and in whatever order there are any, and with lines of base64 joined. */
  *#views(text: string, depth: number = deepest, view?: DecodedView): Generator<DecodedView> {
    const joined = unwrapLines(text, view);
    if (joined !== undefined) yield joined;
    if (depth === 0) return;
    for (const decode of [decodeJson, decodePercents]) {
      const decoded = decode(text, view);
      if (decoded === undefined) continue;
      yield decoded;
      yield* this.#views(decoded.text, depth - 1, decoded);
    }
  }

  #findIn(text: string, view: DecodedView | undefined, findings: Finding[]): void {
    const shifts = this.#shifts;
    for (let at = shortestKnown - 3; at + 3 <= text.length;) {
      const shift = shifts[hashAt(text, at)] ?? 1;
      if (shift > 0) {
        at += shift;
        continue;
      }
      const start = at + 3 - shortestKnown;
      for (const pattern of this.#patterns.get(hashAt(text, at)) ?? []) {
        if (!text.startsWith(pattern.text, start)) continue;
        const end = start + pattern.text.length + tailOf(pattern, text, start + pattern.text.length);
        findings.push({
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

  /** The longest end of the text that a value begins with. */
  #openIn(text: string): number | undefined {
    const isWrapped = wrapped.test(text.slice(-64));
    let open: number | undefined;
    for (const { text: pattern, hasBlank } of this.#all) {
      if (!isWrapped && !hasBlank) continue;
      const whole = hasBlank ? text : text.trimEnd();
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

/** A value of several lines is looked for line by line too: whoever shows it may indent it. */
function partsOf(value: string): string[] {
  const lines = value.includes('\n')
    ? value
        .split(/\r?\n/u)
        .map((line) => line.trim())
        .filter(isRedactable)
    : [];
  if (value.length <= longest) return [value, ...lines];
  const parts: string[] = [];
  for (let at = 0; at < value.length; at += longest) parts.push(value.slice(at, at + longest));
  return [...parts.filter((part) => part.length >= shortestKnown), ...lines];
}
