import { isJsonObject, type JsonObject, type JsonValue, setMember } from '../json.ts';
import { Finder, reach } from './finder.ts';
import {
  type Hit,
  markOf,
  MAX_BLOCK,
  type RedactedText,
  type RedactingStream,
  type Redactor,
  type RedactorOptions,
  type SecretMatch,
  settle,
  type Settled,
  type Settlement,
} from './redactor.ts';
import { lengthOfWord, readBody, readPemBlock } from './rules/pem-block.ts';
import { table } from './rules/rules.ts';

/** What a name and a value in JSON have around them, for rules that look at both. */
const [beforeName, behindName] = ['"', '": "'];
/** A longer name says nothing. */
const MAX_NAME = 100;

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

/** How many characters of a run without white space are held back. */
const MAX_RUN = 4096;

/**
 * Returns the same text for a whole text and for its pieces, however it is cut.
 *
 * A match contains no white space and has a limited length. So text before the last white space is settled, and text further
 * from the end than any match is long. Private keys, known values with blanks, and a user's own rules are asked for where
 * they are still open. Part of the returned text is kept, because rules look at the text before a secret.
 */
class RedactingText implements RedactingStream {
  readonly #finder: Finder;
  readonly #markOf: (settled: Settled) => string;
  /** What is remembered, and what is held back. */
  #text = '';
  /** Findings that begin before are settled. */
  #from = 0;
  /** Where the run without white space at the end begins. */
  #run = 0;
  /** How far the beginning of the text is from the beginning of its line. */
  #column = 0;
  #progress: Settlement = { done: 0, blockEnd: 0 };
  #isHeldByBlock = false;
  /** A block whose mark was given before its end was known: up to where it is read. */
  #block: { at: number; isInWord: boolean } | undefined;
  #hits = 0;

  constructor(finder: Finder, markOf: (settled: Settled) => string) {
    this.#finder = finder;
    this.#markOf = markOf;
  }

  get hits(): number {
    return this.#hits;
  }

  write(piece: string): string {
    const blank = lastBlank(piece);
    if (blank >= 0) this.#run = this.#text.length + blank + 1;
    this.#text += piece;
    const given = this.#block !== undefined && !this.#readBlock(false) ? '' : this.#giveSettled(piece);
    this.#forget((this.#block?.at ?? this.#from) - this.#finder.memory);
    return given;
  }

  end(): string {
    if (this.#block !== undefined) this.#readBlock(true);
    const given = this.#give(this.#text.length, true);
    this.#forget(this.#text.length);
    this.#column = 0;
    return given;
  }

  #giveSettled(piece: string): string {
    const { length } = this.#text;
    if (this.#isHeldByBlock && length - this.#from <= MAX_BLOCK + MAX_RUN && /^[^\n\\-]*$/u.test(piece)) return '';
    let until = Math.max(this.#run, this.#from);
    if (length - until > MAX_RUN) until = this.#notInPair(length - reach.match);
    if (until <= this.#from) return '';
    const open = this.#finder.openFrom(this.#text, this.#from, until, this.#column);
    const block = open < until ? readPemBlock(this.#text, open, false) : undefined;
    this.#isHeldByBlock = block?.isOpen === true;
    const given = this.#give(Math.min(open, until), false);
    if (block?.isOpen !== true || length - open <= MAX_BLOCK + MAX_RUN) return given;
    this.#block = { at: block.end, isInWord: false };
    const match = { rule: 'private-key', start: open, end: length, layer: 2 };
    return given + this.#replace([match], length);
  }

  /** Gives what is settled up to a place. */
  #give(until: number, isEnd: boolean): string {
    if (until <= this.#from) return '';
    const all = this.#finder.find(this.#text, isEnd, { column: this.#column });
    const settled = all.filter(({ start }) => start >= this.#from && start < until);
    return this.#replace(settled, until);
  }

  #replace(matches: Parameters<typeof settle>[1], until: number): string {
    let given = '';
    let done = Math.max(this.#progress.done, this.#from);
    for (const settled of settle(this.#text, matches, this.#progress)) {
      given += this.#text.slice(done, settled.start) + this.#markOf(settled);
      done = settled.end;
      this.#hits++;
    }
    this.#from = until;
    return done < until ? given + this.#text.slice(done, until) : given;
  }

  /** Reads on in a block whose mark was given. @returns whether its end was found */
  #readBlock(isEnd: boolean): boolean {
    const { at, isInWord } = this.#block ?? { at: 0, isInWord: false };
    const from = isInWord ? at + lengthOfWord(this.#text, at) : at;
    const block =
      isInWord && from === this.#text.length ? { end: from, isOpen: !isEnd } : readBody(this.#text, from, 1, isEnd);
    const end = block?.end ?? from;
    if (block?.isOpen === true) {
      const isLong = this.#text.length - end > MAX_BLOCK || (isInWord && end === this.#text.length);
      this.#block = isLong ? { at: this.#text.length, isInWord: true } : { at: end, isInWord: false };
      return false;
    }
    this.#block = undefined;
    this.#isHeldByBlock = false;
    this.#from = end;
    this.#progress = { done: end, blockEnd: end };
    return true;
  }

  #forget(before: number): void {
    if (before <= 0) return;
    const line = this.#text.lastIndexOf('\n', before - 1);
    this.#column = line < 0 ? this.#column + before : before - line - 1;
    this.#text = this.#text.slice(before);
    this.#from -= before;
    this.#run -= before;
    this.#progress = { done: this.#progress.done - before, blockEnd: this.#progress.blockEnd - before };
    if (this.#block !== undefined) this.#block.at -= before;
  }

  /** The place, or the one before it if it is between the two halves of a character. */
  #notInPair(at: number): number {
    const code = this.#text.charCodeAt(at);
    return code >= 0xdc00 && code < 0xe000 ? at - 1 : at;
  }
}

function lastBlank(piece: string): number {
  for (let at = piece.length - 1; at >= 0; at--) {
    const code = piece.charCodeAt(at);
    if (code === 32 || code === 10 || code === 13 || code === 9) return at;
  }
  return -1;
}
