import { createContext, Script } from 'node:vm';
import type { Context } from 'node:vm';

import type { Finding } from './finding.ts';
import { marks } from './marks.ts';
import { RedactionFailed } from './redaction-failed.ts';
import type { OwnRule } from './redactor.ts';

/** A longer line is looked at in windows, each of which begins in the middle of the one before. */
const window = 4096;
const step = window / 2;
/** For all windows of a text together, and for each MiB of it. */
const budget = { ms: 500, msPerMiB: 1000 };

let box: { context: Context; script: Script } | undefined;

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

  find(text: string, column: number, findings: Finding[]): void {
    if (this.#rules.length === 0) return;
    runInTime(budget.ms + (budget.msPerMiB * text.length) / 2 ** 20, () => {
      for (const { start, end } of windowsOf(text, column)) this.#findIn(text.slice(start, end), start, findings);
    });
  }

  #findIn(text: string, start: number, findings: Finding[]): void {
    // A rule does not go on over what was taken out.
    const line = text.replaceAll(marks, (mark) => '\n'.repeat(mark.length));
    for (const { name, pattern } of this.#rules) {
      for (const { index, 0: match } of line.matchAll(pattern)) {
        if (match !== '')
          findings.push({ rule: name, start: start + index, end: start + index + match.length, layer: 2 });
      }
    }
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

/** Runs work and stops it when it takes too long, also in the middle of a regular expression that backtracks. */
function runInTime(timeoutMs: number, work: () => void): void {
  box ??= { context: createContext({ work: undefined }), script: new Script('work()') };
  box.context['work'] = work;
  try {
    box.script.runInContext(box.context, { timeout: Math.ceil(timeoutMs) });
  } catch (error) {
    // It may come from another realm, where `Error` is another.
    if ((error as { code?: unknown } | null)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    throw new RedactionFailed(
      `a text could not be searched by the rules of the configuration within ${Math.ceil(timeoutMs)} ms`,
      'look for a rule that repeats a repetition, such as (a+)+',
      error,
    );
  } finally {
    box.context['work'] = undefined;
  }
}
