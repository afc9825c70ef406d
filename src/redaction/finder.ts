import { createHash, randomBytes } from 'node:crypto';
import { monotonicMs } from '../time/clock.ts';
import { runInTime } from '../time/run-in-time.ts';
import { DecodedView, KnownValues, type Part } from './known-values.ts';
import {
  type Allowed,
  marks,
  type OwnRule,
  RedactionFailed,
  type RedactorOptions,
  type SecretMatch,
} from './redactor.ts';
import { isChosen, isOfExamples } from './rules/credential-rules.ts';
import { openTail, pemStartsIn, pemTailsIn, readPemBlock } from './rules/pem-block.ts';
import { AnchorIndex, isWordStart, MAX_LIST, type ReadyRule, strange, strangenessOf } from './rules/rule.ts';
import { rules } from './rules/rules.ts';

/** How far a rule looks, in UTF-16 code units. What a stream holds back and remembers follows from it. */
export const reach = {
  /** From an anchor to the end of its match. */
  match: 3072,
  /** From an anchor back, and from an anchor to its secret. */
  before: 300,
  toSecret: 256,
};

/** Processor time: a hundred times what real text needs. */
const budget = { ms: 2000, msPerMiB: 1000 };
/** How often the time is looked at. */
const candidatesPerLook = 1024;

let index: AnchorIndex | undefined;

/** Finds secrets by values that are known, by the table of forms, and by a person's own rules. */
export class Finder {
  readonly #known: KnownValues;
  readonly #own: OwnRules;

  readonly #allowed: AllowList;

  constructor({ known, rules = [], allow = [] }: Pick<RedactorOptions, 'known' | 'rules' | 'allow'>) {
    this.#known = new KnownValues(known);
    this.#own = new OwnRules(rules);
    this.#allowed = new AllowList(allow);
  }

  /** How much of what was given a stream must remember. */
  get memory(): number {
    return reach.before + reach.toSecret + this.#own.memory;
  }

  /**
   * @param isEnd nothing follows the text
   * @param column how far the beginning of the text is from the beginning of its line
   * @returns all that was found, in no order, and overlapping
   * @throws {RedactionFailed} if it takes too long
   */
  find(
    text: string,
    isEnd: boolean,
    { column = 0, path }: { column?: number; path?: string | undefined } = {},
  ): SecretMatch[] {
    const matches: SecretMatch[] = [];
    const views = [...cutViews(text)];
    this.#known.find(text, matches);
    for (const view of views) this.#known.findIn(view, matches);
    findByForm(text, views, isEnd, matches);
    this.#own.find(text, column, matches);
    const found = path !== undefined && isOfExamples(path) ? matches.filter(({ rule }) => !isChosen(rule)) : matches;
    return this.#allowed.without(withoutMarks(text, found), text, path);
  }

  /**
   * Returns the place from which findings depend on what follows the text. Matches without white space are not considered.
   * @param from what is before is settled
   * @param until where the run without white space at the end of the text begins
   */
  openFrom(text: string, from: number, until: number, column: number): number {
    const settled = text.slice(0, until);
    let open = Math.min(
      this.#known.openFrom(settled),
      this.#own.openFrom(text, column),
      openTail(settled),
      openCut(settled),
      openLine(settled),
    );
    for (const at of pemStartsIn(text, from)) {
      if (at < open && readPemBlock(text, at, false)?.isOpen === true) open = at;
    }
    return Math.max(open, from);
  }
}

/** What tells that the rest of a line counts: a list of cookies, and what `echo` gives to another program. */
const openList = /cookie["'`\\\]]{0,9}[ \t]{0,4}[:=,]|(?:echo|printf) /i;
/** A password, of which the rest of the line tells whether it is code. */
const openName = /(?:pass\w*|pwd?\d?)["'`\]]{0,8}\s{0,20}[:=]\s{0,20}\S{4,200}[ \t]+$/i;

/** Where something begins whose line is not at its end. The text ends with white space. */
function openLine(text: string): number {
  if (text.endsWith('\n')) return text.length;
  const from = Math.max(text.lastIndexOf('\n') + 1, text.length - MAX_LIST);
  const list = text.slice(from).search(openList);
  const tail = Math.max(0, text.length - reach.before);
  const password = text.slice(tail).search(openName);
  return Math.min(list < 0 ? text.length : from + list, password < 0 ? text.length : tail + password);
}

function findByForm(text: string, views: readonly DecodedView[], isEnd: boolean, matches: SecretMatch[]): void {
  const clock = new Clock(text.length);
  findByRules(text, clock, matches);
  for (const view of views) {
    const inView: SecretMatch[] = [];
    findByRules(view.text, clock, inView);
    for (const { rule, from = 0, start: first, end: behind, layer } of inView) {
      const [start, end] = [view.placeOf(first).start, view.placeOf(behind - 1).end];
      const secret = view.text.slice(first, behind);
      // What nothing cuts is found in the text itself.
      const isCut = end - view.placeOf(from).start > behind - from;
      if (isCut && end - start <= reach.match) matches.push({ rule, start, end, secret, layer });
    }
  }
  for (const at of pemStartsIn(text, 0)) {
    const block = readPemBlock(text, at, isEnd);
    if (block !== undefined && block.words > 0) {
      matches.push({ rule: 'private-key', start: at, end: block.end, layer: 2 });
    }
  }
  for (const { start, end } of pemTailsIn(text)) matches.push({ rule: 'private-key', start, end, layer: 2 });
}

const atAnchor = [0];

function findByRules(text: string, clock: Clock, matches: SecretMatch[]): void {
  index ??= new AnchorIndex(rules);
  index.visit(text, (ready, at) => {
    clock.look();
    for (const before of ready.rule.before ?? atAnchor) {
      if (before <= at) tryRule(ready, text, at - before, matches);
    }
  });
}

class Clock {
  readonly #startedMs = monotonicMs();
  readonly #limitMs: number;
  #candidates = 0;
  // Asking takes longer than most texts do.
  #cpu: NodeJS.CpuUsage | undefined;

  constructor(length: number) {
    this.#limitMs = budget.ms + (budget.msPerMiB * length) / 2 ** 20;
  }

  look(): void {
    if (++this.#candidates % candidatesPerLook !== 0) return;
    this.#cpu ??= process.cpuUsage();
    if (monotonicMs() - this.#startedMs > this.#limitMs) assertInTime(this.#cpu, this.#limitMs);
  }
}

function tryRule(ready: ReadyRule, text: string, at: number, matches: SecretMatch[]): void {
  const { name, isInWord, check, layer = 1 } = ready.rule;
  if (isInWord !== true && !isWordStart(text, at, ready.isDistinct)) return;
  for (const match of ready.matchesAt(text, at)) {
    const { index } = match;
    const [start, end] = match.indices?.groups?.['s'] ?? [index, index + match[0].length];
    const secret = text.slice(start, end);
    if (check?.(secret, match, text.slice(Math.max(0, index - reach.before), index)) !== false)
      matches.push({ rule: name, from: at, start, end, layer });
  }
}

function assertInTime(before: NodeJS.CpuUsage, limitMs: number): void {
  const { user, system } = process.cpuUsage(before);
  if ((user + system) / 1000 <= limitMs) return;
  const message = `a text could not be searched for secrets within ${Math.round(limitMs)} ms of processor time`;
  const hint = 'look at what was said: text that is made to look like thousands of tokens takes long';
  throw new RedactionFailed(message, hint);
}

/** Cuts the places of marks out of matches: what a mark replaced was redacted before. */
function withoutMarks(text: string, matches: SecretMatch[]): SecretMatch[] {
  if (matches.length === 0 || !text.includes('‹redacted:')) return matches;
  const places = [...text.matchAll(marks)].map((mark) => ({ start: mark.index, end: mark.index + mark[0].length }));
  const parts: SecretMatch[] = [];
  let next = 0;
  for (const match of matches.toSorted((a, b) => a.start - b.start)) {
    while ((places[next]?.end ?? Infinity) <= match.start) next++;
    let { start } = match;
    for (let at = next; (places[at]?.start ?? Infinity) < match.end; at++) {
      const place = places[at] ?? { start: match.end, end: match.end };
      if (start < place.start) parts.push({ ...match, start, end: place.start });
      start = Math.max(start, place.end);
    }
    if (start < match.end) parts.push({ ...match, start });
  }
  return parts;
}

/** A colour or another sequence of a terminal, characters without width, and what JSON makes of them. */
const invisible =
  '(?:(?:\\u001b|\\\\{1,7}(?:u001[Bb]|x1[Bb]|033|e))\\[[\\d;]{0,20}[A-Za-z]|[\\u00ad\\u200b-\\u200d\\u2060\\ufeff]|\\\\{1,7}u(?:00[Aa][Dd]|200[B-Db-d]|2060|[Ff][Ee][Ff][Ff]))';
/** What can be in the middle of a token: invisible, an escape of a visible character, or the end of a line. */
const cutAt = new RegExp(
  `${invisible}{1,8}(?=[\\w+/=.~%-])|\\\\{1,7}u00(?<code>[2-7][\\dA-Fa-f])|(?<end>\\\\?(?:\\r?\\n|(?:\\\\{1,8}r)?\\\\{1,8}n)[ \\t]{0,40})(?=[\\w+/.=~-]{4})`,
  'y',
);

const mayCut = /[\n\\\u001b\u00ad\u200b-\u200d\u2060\ufeff]/g;
const isInToken = Uint8Array.from({ length: 128 }, (_, code) => Number(/[\w+/=.~%-]/.test(String.fromCharCode(code))));

/** All that cuts what may be a token, in order. */
function* cutsIn(text: string): Generator<RegExpExecArray> {
  for (mayCut.lastIndex = 0; mayCut.test(text);) {
    let at = mayCut.lastIndex - 1;
    const next = mayCut.lastIndex;
    const code = text.charCodeAt(at);
    if (code === 10 && text.charCodeAt(at - 1) === 13) at--;
    // An escape may be the first character of a token.
    if (isInToken[text.charCodeAt(at - 1)] !== 1 && !(code === 92 && text.charCodeAt(at + 1) === 117)) continue;
    cutAt.lastIndex = at;
    const cut = cutAt.exec(text);
    if (cut === null) continue;
    mayCut.lastIndex = at + cut[0].length;
    yield cut;
    // Others may have searched meanwhile.
    mayCut.lastIndex = Math.max(next, at + cut[0].length);
  }
}

/** How far a token reaches, and how much before it can be its name, and behind it can say what it is. */
const [MAX_TOKEN, MAX_NAME, MAX_BEHIND] = [3072, 120, 100];
/** A line that is longer may have been broken anywhere. */
const LONG_LINE = 60;

/** Tells whether characters may be a part of a token, and are no word. */
function mayBePart(text: string): boolean {
  return /\d/.test(text) || strangenessOf(text) >= strange;
}

function endsLongLine(text: string, end: number): boolean {
  return end >= LONG_LINE && !/\n|\\n/.test(text.slice(end - LONG_LINE, end));
}

/** Tells whether what is before the end of a line may be the beginning of a token. */
function maySplit(text: string, end: number): boolean {
  let start = end;
  while (start > 0 && end - start < 64 && isInToken[text.charCodeAt(start - 1)] === 1) start--;
  const left = text.slice(start, end);
  if (endsLongLine(text, end)) return left !== '' && (/[=_]/.test(left) || mayBePart(left));
  return left.length >= 8 && !left.endsWith('=') && mayBePart(left);
}

/**
 * Tells whether a token may go on in the next line: both parts look like one, and the second has its line alone or the first
 * fills its line. Asks what takes long last: there is an end of a line everywhere.
 */
function goesOn(text: string, start: number, end: number): boolean {
  const isLong = endsLongLine(text, start);
  const behind = text.slice(end, end + MAX_TOKEN);
  // The name of a variable may be broken, too.
  if (isLong && /^[A-Z\d_]{0,40}=/.test(behind) && /\s[A-Z][A-Z\d_]+$/.test(text.slice(start - 40, start)))
    return maySplit(text, start);
  const [right = ''] = /^[\w+/.~-]+={0,2}/.exec(behind) ?? [];
  const rest = behind.slice(right.length, right.length + 8);
  if (!isLong && !/^["'`,;)\]}\\]{0,4}(?:[\r\n]|n|$)/.test(rest)) return false;
  return /[A-Za-z]/.test(right) && !/^[=:(]/.test(rest) && maySplit(text, start) && mayBePart(right.slice(0, 64));
}

/** The stretches of a text in which something cuts tokens, without it. */
function* cutViews(text: string): Generator<DecodedView> {
  let [until, done, length] = [-1, 0, 0];
  let [parts, pieces]: [Part[], string[]] = [[], []];
  const take = (piece: string, from: number, end: number, isEscape: boolean): void => {
    if (piece === '') return;
    parts.push({ at: length, from, until: end, isEscape });
    pieces.push(piece);
    length += piece.length;
  };
  for (const match of cutsIn(text)) {
    const { index: start, 0: cut } = match;
    const end = start + cut.length;
    const code = match.groups?.['code'];
    const decoded = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16));
    if (
      code === undefined
        ? match.groups?.['end'] !== undefined && !goesOn(text, start, end)
        : !/[\w+/=.~%&:@!#$^*-]/.test(decoded)
    )
      continue;
    const from = Math.max(0, runBefore(text, start) - MAX_NAME);
    if (from > until) {
      if (pieces.length > 0) {
        take(text.slice(done, until), done, until, false);
        yield new DecodedView(pieces.join(''), parts, undefined);
      }
      done = from;
      [parts, pieces, length] = [[], [], 0];
    }
    take(text.slice(done, start), done, start, false);
    take(decoded, start, end, true);
    done = end;
    until = Math.min(text.length, runBehind(text, end) + MAX_BEHIND);
  }
  if (pieces.length === 0) return;
  take(text.slice(done, until), done, until, false);
  yield new DecodedView(pieces.join(''), parts, undefined);
}

/** Where a token begins that the next line may go on with. */
function openCut(text: string): number {
  let open = text.length;
  if (!/\s$/.test(text)) return open;
  for (let at = text.trimEnd().length, end = text.length; at > 0 && text.length - at < MAX_TOKEN;) {
    if (!/^\\?\r?\n?[ \t]{0,40}$/.test(text.slice(at, end)) || !maySplit(text, at)) return open;
    open = runBefore(text, at);
    const line = text.slice(0, open).trimEnd().length;
    if (!/\n/.test(text.slice(line, open))) return open;
    [at, end] = [line, open];
  }
  return open;
}

function runBefore(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < MAX_TOKEN && !/\s/.test(text.charAt(start - 1))) start--;
  return start;
}

function runBehind(text: string, at: number): number {
  let end = at;
  while (end < text.length && end - at < MAX_TOKEN && !/\s/.test(text.charAt(end))) end++;
  return end;
}

/** The hash that names a value in an allow-list, which others may read: `<salt>:<SHA-256 of salt and value>`, in hexadecimal. */
export function allowHashOf(value: string, salt: string = randomBytes(8).toString('hex')): string {
  return `${salt}:${createHash('sha256').update(salt).update('\0').update(value).digest('hex')}`;
}

/** Findings that the configuration declares to be no secrets. */
class AllowList {
  readonly #places: { rule: string; path: RegExp }[] = [];
  readonly #hashes: { salt: string; hash: string }[] = [];

  constructor(allow: readonly Allowed[]) {
    for (const entry of allow) {
      if ('hash' in entry) this.#hashes.push({ salt: entry.hash.slice(0, entry.hash.indexOf(':')), hash: entry.hash });
      else this.#places.push({ rule: entry.rule, path: patternOf(entry.path) });
    }
  }

  without(matches: SecretMatch[], text: string, path: string | undefined): SecretMatch[] {
    if (this.#places.length === 0 && this.#hashes.length === 0) return matches;
    return matches.filter(({ rule, start, end, secret = text.slice(start, end) }) => {
      if (path !== undefined && this.#places.some((place) => place.rule === rule && place.path.test(path)))
        return false;
      return !this.#hashes.some(({ salt, hash }) => allowHashOf(secret, salt) === hash);
    });
  }
}

/** `*` is anything in a name, `**` also folders, `?` one character. */
function patternOf(glob: string): RegExp {
  const source = glob.replaceAll(/\*\*\/?|[*?]|[.+^${}()|[\]\\/]/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    return part === '?' ? '[^/]' : `\\${part}`;
  });
  return new RegExp(`^${source}$`, 'su');
}

/** A longer line is looked at in windows, each of which begins in the middle of the one before. */
const window = 4096;
const step = window / 2;
/** For all windows of a text together, and for each MiB of it. */
const ownRuleBudget = { ms: 500, msPerMiB: 1000 };

/** A person's own rules: regular expressions, each matched within a line. */
class OwnRules {
  readonly #rules: { name: string; pattern: RegExp }[];

  constructor(rules: readonly OwnRule[]) {
    this.#rules = rules.map(({ name, pattern }) => ({ name, pattern: new RegExp(pattern, 'gu') }));
  }

  /** How much of what was given a stream must remember. */
  get memory(): number {
    return this.#rules.length === 0 ? 0 : window;
  }

  find(text: string, column: number, matches: SecretMatch[]): void {
    if (this.#rules.length === 0) return;
    const timeoutMs = Math.ceil(ownRuleBudget.ms + (ownRuleBudget.msPerMiB * text.length) / 2 ** 20);
    const search = (): SecretMatch[] =>
      [...windowsOf(text, column)].flatMap(({ start, end }) => this.#findIn(text.slice(start, end), start));
    const found = runInTime(search, timeoutMs, (cause) => {
      const message = `a text could not be searched by the rules of the configuration within ${timeoutMs} ms`;
      return new RedactionFailed(message, 'look for a rule that repeats a repetition, such as (a+)+', cause);
    });
    for (const match of found) matches.push(match);
  }

  #findIn(text: string, start: number): SecretMatch[] {
    const matches: SecretMatch[] = [];
    // A rule does not go on over what was taken out.
    const line = text.replaceAll(marks, (mark) => '\n'.repeat(mark.length));
    for (const { name, pattern } of this.#rules) {
      for (const { index, 0: match } of line.matchAll(pattern)) {
        if (match !== '')
          matches.push({ rule: name, start: start + index, end: start + index + match.length, layer: 2 });
      }
    }
    return matches;
  }

  /** Where the first window begins that what follows can still change. */
  openFrom(text: string, column: number): number {
    if (this.#rules.length === 0) return text.length;
    const lineStart = text.lastIndexOf('\n') + 1;
    const before = lineStart === 0 ? column : 0;
    const length = text.length - lineStart + before;
    const passed = length < window ? 0 : Math.floor((length - window) / step) + 1;
    return lineStart - before + passed * step;
  }
}

function* windowsOf(text: string, column: number): Generator<{ start: number; end: number }> {
  for (let lineStart = -column; lineStart < text.length;) {
    const found = text.indexOf('\n', Math.max(0, lineStart));
    const lineEnd = found < 0 ? text.length : found;
    for (let start = lineStart; start < lineEnd; start += step) {
      if (start >= 0) yield { start, end: Math.min(start + window, lineEnd) };
      if (start + window >= lineEnd) break;
    }
    lineStart = lineEnd + 1;
  }
}
