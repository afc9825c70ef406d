import { cutViews, openCut } from './cut-views.ts';
import type { DecodedView } from './known/decoded-view.ts';
import { AnchorIndex, isWordStart, MAX_LIST } from './rules/anchor-index.ts';
import type { ReadyRule } from './rules/anchor-index.ts';
import { AllowList } from './configured/allow-list.ts';
import type { SecretMatch } from './secret-match.ts';
import { KnownValues } from './known/known-values.ts';
import { OwnRules } from './configured/own-rules.ts';
import { isChosen, isOfExamples } from './rules/password-rules.ts';
import { openTail, pemStartsIn, pemTailsIn, readPemBlock } from './rules/pem-block.ts';
import { rules } from './rules/rules.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { marks, RedactionFailed } from './redactor.ts';
import type { RedactorOptions } from './redactor.ts';

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
   *
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

/** Stops a search that takes too long. */
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
