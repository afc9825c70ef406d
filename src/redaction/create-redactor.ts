import { isJsonObject, setMember, type JsonValue, type JsonObject } from '../json.ts';
import { Finder } from './finder.ts';
import { settle, type SecretMatch, type Settled } from './secret-match.ts';
import { RedactingText } from './redacting-stream.ts';
import { markOf, type Hit, type RedactedText, type Redactor, type RedactorOptions } from './redactor.ts';
import { table } from './rules/rules.ts';

/** What a name and a value in JSON have around them, for rules that look at both. */
const [beforeName, behindName] = ['"', '": "'];
/** A longer name says nothing. */
const MAX_NAME = 100;

/** Makes a redactor for one machine and what is known there. */
export function createRedactor(options: RedactorOptions): Redactor {
  const finder = new Finder(options);
  const mark = ({ rule, secret }: Settled): string => markOf(rule, secret, options.key);

  const replace = (text: string, matches: readonly SecretMatch[]): RedactedText => {
    const hits: Hit[] = [];
    let [redacted, done] = ['', 0];
    for (const settled of settle(text, matches, { done: 0, blockEnd: 0 })) {
      const { rule, start, end } = settled;
      hits.push({ rule, start, end });
      redacted += text.slice(done, start) + mark(settled);
      done = end;
    }
    return { text: redacted + text.slice(done), hits };
  };

  const redactText = (text: string, path?: string): RedactedText => replace(text, finder.find(text, true, { path }));

  const redactNamed = (text: string, name: string): RedactedText => {
    if (name.length > MAX_NAME) return redactText(text);
    const before = beforeName + name + behindName;
    const matches = finder.find(before + text, true);
    return replace(
      text,
      matches.flatMap((found) => {
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

/** Redacts a text that stands under a name. */
type RedactNamed = (text: string, name?: string) => string;

/** What is still to be put in its place. */
type Task = { into: JsonValue[] | JsonObject; key: number | string; value: JsonValue; name: string | undefined };

/** Redacts the strings and keys of a value, however deep it is. */
function redactEach(value: JsonValue, redact: RedactNamed): JsonValue {
  const whole: JsonValue[] = [];
  const tasks: Task[] = [{ into: whole, key: 0, value, name: undefined }];
  for (let task = tasks.pop(); task !== undefined; task = tasks.pop()) put(task, redact, tasks);
  return whole[0] ?? null;
}

function put({ into, key, value, name }: Task, redact: RedactNamed, tasks: Task[]): void {
  if (typeof value === 'string') setMember(into, key, redact(value, name));
  else if (Array.isArray(value)) {
    const copy: JsonValue[] = Array.from({ length: value.length }, () => null);
    setMember(into, key, copy);
    for (const [at, item] of value.entries()) tasks.push({ into: copy, key: at, value: item, name });
  } else if (isJsonObject(value)) {
    const copy: JsonObject = {};
    setMember(into, key, copy);
    for (const [itemKey, item] of Object.entries(value)) {
      const free = freeKey(copy, redact(itemKey));
      // In its order, before what is below is looked at.
      setMember(copy, free, null);
      tasks.push({ into: copy, key: free, value: item, name: nameFor(itemKey, value) });
    }
  } else setMember(into, key, value);
}

/** A variable as `{ name, value }` has its name beside it. */
function nameFor(key: string, { name, key: named }: JsonObject): string {
  if (key !== 'value') return key;
  return typeof name === 'string' ? name : typeof named === 'string' ? named : key;
}

/** Two keys can be the same secret in two encodings. */
function freeKey(object: JsonObject, key: string): string {
  let free = key;
  for (let number = 2; Object.hasOwn(object, free); number++) free = `${key} ${number}`;
  return free;
}
