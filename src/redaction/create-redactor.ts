import type { JsonValue } from '../json.ts';
import { Finder } from './finder.ts';
import type { Finding } from './finding.ts';
import { RedactingText } from './redacting-stream.ts';
import { redactEach } from './redact-value.ts';
import { markOf } from './redactor.ts';
import type { Hit, RedactedText, Redactor, RedactorOptions } from './redactor.ts';
import { table } from './rules/rules.ts';
import { settle } from './settle.ts';
import type { Settled } from './settle.ts';

/** What a name and a value in JSON have around them, for rules that look at both. */
const [beforeName, behindName] = ['"', '": "'];
/** A longer name says nothing. */
const longestName = 100;

/** Makes a redactor for one machine and what is known there. */
export function createRedactor(options: RedactorOptions): Redactor {
  const finder = new Finder(options);
  const mark = ({ rule, secret }: Settled): string => markOf(rule, secret, options.key);

  const replace = (text: string, findings: readonly Finding[]): RedactedText => {
    const hits: Hit[] = [];
    let [redacted, done] = ['', 0];
    for (const settled of settle(text, findings, { done: 0, blockEnd: 0 })) {
      const { rule, start, end } = settled;
      hits.push({ rule, start, end });
      redacted += text.slice(done, start) + mark(settled);
      done = end;
    }
    return { text: redacted + text.slice(done), hits };
  };

  const redactText = (text: string, path?: string): RedactedText => replace(text, finder.find(text, true, { path }));

  const redactNamed = (text: string, name: string): RedactedText => {
    if (name.length > longestName) return redactText(text);
    const before = beforeName + name + behindName;
    const findings = finder.find(before + text, true);
    return replace(
      text,
      findings.flatMap((found) => {
        const [start, end] = [found.start - before.length, found.end - before.length];
        return start < 0 ? [] : [{ ...found, start, end }];
      }),
    );
  };

  const redactValue = (value: JsonValue, keep?: ReadonlySet<string>): { value: JsonValue; hits: number } => {
    let hits = 0;
    const redact = (text: string, name?: string): string => {
      if (text === '' || keep?.has(text) === true) return text;
      const redacted = name === undefined ? redactText(text) : redactNamed(text, name);
      hits += redacted.hits.length;
      return redacted.text;
    };
    return { value: redactEach(value, redact), hits };
  };

  return { table, redactText, redactValue, openStream: () => new RedactingText(finder, mark) };
}
