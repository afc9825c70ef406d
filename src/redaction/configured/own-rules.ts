import { runInTime } from '../../run-in-time.ts';
import type { SecretMatch } from '../secret-match.ts';
import { marks, RedactionFailed } from '../redactor.ts';
import type { OwnRule } from '../redactor.ts';

/** A longer line is looked at in windows, each of which begins in the middle of the one before. */
const window = 4096;
const step = window / 2;
/** For all windows of a text together, and for each MiB of it. */
const budget = { ms: 500, msPerMiB: 1000 };

/** A person's own rules: regular expressions, each matched within a line. */
export class OwnRules {
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
    const timeoutMs = Math.ceil(budget.ms + (budget.msPerMiB * text.length) / 2 ** 20);
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
