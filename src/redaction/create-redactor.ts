import { isJsonObject } from '../json.ts';
import type { JsonValue } from '../json.ts';
import { isRedactable } from './known-values.ts';
import { markOf } from './redactor.ts';
import type { Hit, RedactedText, RedactingStream, Redactor, RedactorOptions } from './redactor.ts';

const table = '2026-11-22';

const providers: [string, RegExp][] = [
  ['github-token', /\bgh[pousr]_[A-Za-z0-9]{36}\b/gu],
  ['anthropic-key', /\bsk-ant-(?:api03|admin01)-[\w-]{93}AA\b/gu],
  ['openai-key', /\bsk-(?:proj|svcacct|admin)-[\w-]{40,200}\b/gu],
  ['aws-access-key-id', /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/gu],
];

/** Makes a redactor for one machine and what is known there. */
export function createRedactor(options: RedactorOptions): Redactor {
  const known = options.known.filter(isRedactable);
  const find = (text: string): Hit[] => {
    const hits: Hit[] = [];
    for (const value of known) {
      for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
        hits.push({ rule: 'known', start: at, end: at + value.length });
      }
    }
    for (const [rule, pattern] of providers) {
      for (const match of text.matchAll(pattern))
        hits.push({ rule, start: match.index, end: match.index + match[0].length });
    }
    return hits.toSorted((a, b) => a.start - b.start || b.end - a.end);
  };
  const redactText = (text: string): RedactedText => {
    const hits: Hit[] = [];
    let done = 0;
    let redacted = '';
    for (const { rule, start, end } of find(text)) {
      if (end <= done) continue;
      const from = Math.max(start, done);
      hits.push({ rule, start: from, end });
      redacted += text.slice(done, from) + markOf(rule, text.slice(from, end), options.key);
      done = end;
    }
    return { text: redacted + text.slice(done), hits };
  };
  const redactValue = (value: JsonValue, keep: ReadonlySet<string> | undefined, count: { hits: number }): JsonValue => {
    if (typeof value === 'string') {
      if (keep?.has(value) === true) return value;
      const { text, hits } = redactText(value);
      count.hits += hits.length;
      return text;
    }
    if (Array.isArray(value)) return value.map((item) => redactValue(item, keep, count));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [redactValue(key, keep, count), redactValue(item, keep, count)]),
    );
  };
  return {
    table,
    redactText,
    redactValue: (value, keep) => {
      const count = { hits: 0 };
      return { value: redactValue(value, keep, count), hits: count.hits };
    },
    openStream: () => openStream(redactText),
  };
}

/** Holds everything back until its end. */
function openStream(redactText: (text: string) => RedactedText): RedactingStream {
  let held = '';
  let hits = 0;
  return {
    write: (piece) => {
      held += piece;
      return '';
    },
    end: () => {
      const redacted = redactText(held);
      held = '';
      hits += redacted.hits.length;
      return redacted.text;
    },
    get hits() {
      return hits;
    },
  };
}
