import { AnchorIndex, isWordStart } from './rules/anchor-index.ts';
import type { ReadyRule } from './rules/anchor-index.ts';
import { AllowList } from './configured/allow-list.ts';
import type { SecretMatch } from './secret-match.ts';
import { KnownValues } from './known/known-values.ts';
import { OwnRules } from './configured/own-rules.ts';
import { pemStartsIn, readPemBlock } from './rules/pem-block.ts';
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
    this.#known.find(text, matches);
    findByForm(text, isEnd, matches);
    this.#own.find(text, column, matches);
    return this.#allowed.without(withoutMarks(text, matches), text, path);
  }

  /**
   * Returns the place from which findings depend on what follows the text. Matches without white space are not considered.
   *
   * @param from what is before is settled
   * @param until where the run without white space at the end of the text begins
   */
  openFrom(text: string, from: number, until: number, column: number): number {
    let open = Math.min(this.#known.openFrom(text.slice(0, until)), this.#own.openFrom(text, column));
    for (const at of pemStartsIn(text, from)) {
      if (at < open && readPemBlock(text, at, false)?.isOpen === true) open = at;
    }
    return Math.max(open, from);
  }
}

function findByForm(text: string, isEnd: boolean, matches: SecretMatch[]): void {
  index ??= new AnchorIndex(rules);
  const startedMs = monotonicMs();
  // Asking takes longer than most texts do.
  let cpu: NodeJS.CpuUsage | undefined;
  const limitMs = budget.ms + (budget.msPerMiB * text.length) / 2 ** 20;
  let candidates = 0;
  index.visit(text, (ready, at) => {
    if (++candidates % candidatesPerLook === 0) {
      cpu ??= process.cpuUsage();
      if (monotonicMs() - startedMs > limitMs) assertInTime(cpu, limitMs);
    }
    for (const before of ready.rule.before ?? [0]) {
      const match = before > at ? undefined : tryRule(ready, text, at - before);
      if (match !== undefined) matches.push(match);
    }
  });
  for (const at of pemStartsIn(text, 0)) {
    const block = readPemBlock(text, at, isEnd);
    if (block !== undefined && block.words > 0) {
      matches.push({ rule: 'private-key', start: at, end: block.end, layer: 2 });
    }
  }
}

function tryRule(ready: ReadyRule, text: string, at: number): SecretMatch | undefined {
  const { name, isInWord, check, layer = 1 } = ready.rule;
  if (isInWord !== true && !isWordStart(text, at, ready.isDistinct)) return undefined;
  const match = ready.matchAt(text, at);
  if (match === null) return undefined;
  const [start, end] = match.indices?.groups?.['s'] ?? [at, at + match[0].length];
  const secret = text.slice(start, end);
  if (check?.(secret, match, text.slice(Math.max(0, at - reach.before), at)) === false) return undefined;
  return { rule: name, start, end, layer };
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
