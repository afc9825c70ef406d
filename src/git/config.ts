import { UwfError } from '../errors.ts';

/**
 * One variable of a configuration file.
 *
 * `section` (empty before the first header) and `key` are in lower case, `subsection` as written (`undefined` where there is none), `value` is
 * `undefined` for a key without `=`, which git reads as true.
 */
export type ConfigEntry = {
  section: string;
  subsection: string | undefined;
  key: string;
  value: string | undefined;
  line: number;
};

/** A configuration file that git would not read either. */
export class InvalidGitConfig extends UwfError {
  readonly path: string;
  readonly line: number;
  constructor(path: string, line: number, reason: string) {
    super(`${path}:${line}: ${reason}`, {
      code: 'invalid-git-config',
      kind: 'environment',
      hint: "run 'git config --list --local' to see what git makes of it",
    });
    this.path = path;
    this.line = line;
  }
}

/**
 * Parses one file of git's configuration format. Includes are not followed: git does not follow them either where it
 * reads a repository's format.
 *
 * @param path names the file in errors
 * @throws {InvalidGitConfig} where git would stop with "bad config line"
 * Source: git-config(1), "CONFIGURATION FILE"; `git_parse_source` in git's config.c.
 */
export function parseConfig(text: string, path: string): ConfigEntry[] {
  return new ConfigParser(text, path).parse();
}

/** The last value of a variable without subsection: later lines win. Distinguishes absent (`undefined`) from valueless. */
export function findConfigEntry(
  entries: readonly ConfigEntry[],
  section: string,
  key: string,
): ConfigEntry | undefined {
  return entries.findLast((entry) => entry.section === section && entry.subsection === undefined && entry.key === key);
}

/**
 * Reads a variable as git reads booleans; `undefined` if it is not set.
 *
 * @throws {InvalidGitConfig} if the value is no boolean
 */
export function configBoolean(entry: ConfigEntry | undefined, path: string): boolean | undefined {
  if (entry === undefined) return undefined;
  if (entry.value === undefined) return true;
  const value = entry.value.toLowerCase();
  if (['true', 'yes', 'on'].includes(value)) return true;
  if (['false', 'no', 'off', ''].includes(value)) return false;
  if (/^[+-]?\d+[kmg]?$/.test(value)) return Number.parseInt(value, 10) !== 0;
  throw new InvalidGitConfig(path, entry.line, `'${entry.value}' is not a boolean`);
}

/** What git takes for white space, and nothing else. Source: `sane_ctype` in git's ctype.c. */
const space = /[ \t\n\r]/;
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\\': '\\', '"': '"' };

class ConfigParser {
  readonly #text: string;
  readonly #path: string;
  #at = 0;
  #line = 1;
  #section = '';
  #subsection: string | undefined;
  readonly #entries: ConfigEntry[] = [];

  constructor(text: string, path: string) {
    // A byte order mark and carriage returns before line ends are what editors on Windows leave.
    this.#text = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
    this.#path = path;
  }

  parse(): ConfigEntry[] {
    for (;;) {
      const character = this.#next();
      if (character === undefined) return this.#entries;
      if (space.test(character)) continue;
      if (character === '#' || character === ';') this.#skipLine();
      else if (character === '[') this.#header();
      else this.#variable(character);
    }
  }

  #next(): string | undefined {
    const character = this.#text[this.#at];
    if (character === undefined) return undefined;
    this.#at += 1;
    if (character === '\n') this.#line += 1;
    return character;
  }

  #fail(reason: string): never {
    throw new InvalidGitConfig(this.#path, this.#line, reason);
  }

  #skipLine(): void {
    for (let character = this.#next(); character !== undefined && character !== '\n';) character = this.#next();
  }

  #header(): void {
    const match = /^([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/.exec(this.#text.slice(this.#at));
    if (match === null) this.#fail('this is not a section header');
    this.#at += match[0].length;
    const name = (match[1] ?? '').toLowerCase();
    const dot = name.indexOf('.');
    // `[section.sub]` is the old way to write a subsection; it is case-insensitive. A quoted one may follow it.
    this.#section = dot === -1 ? name : name.slice(0, dot);
    const parts = [dot === -1 ? undefined : name.slice(dot + 1), match[2]?.replace(/\\(.)/gsu, '$1')];
    const given = parts.filter((part) => part !== undefined);
    this.#subsection = given.length === 0 ? undefined : given.join('.');
  }

  #variable(first: string): void {
    const line = this.#line;
    const match = /^[A-Za-z][A-Za-z0-9-]*/.exec(first + this.#text.slice(this.#at));
    if (match === null) this.#fail(`a variable cannot start with '${first}'`);
    this.#at += match[0].length - 1;
    this.#entries.push({
      section: this.#section,
      subsection: this.#subsection,
      key: match[0].toLowerCase(),
      value: this.#assignment(),
      line,
    });
  }

  #assignment(): string | undefined {
    for (;;) {
      const character = this.#next();
      if (character === undefined || character === '\n') return undefined;
      if (character === ' ' || character === '\t') continue;
      if (character === '=') return this.#value();
      this.#fail("a variable's name is not followed by '='");
    }
  }

  #value(): string {
    let value = '';
    // The length that trailing white space outside quotes may not cut below.
    let kept = 0;
    let isQuoted = false;
    for (;;) {
      const character = this.#next();
      if (character === undefined || character === '\n') {
        if (isQuoted) this.#fail('a quoted value is not closed');
        return value.slice(0, kept);
      }
      if (character === '"') {
        isQuoted = !isQuoted;
        kept = value.length;
      } else if (!isQuoted && (character === '#' || character === ';')) {
        this.#skipLine();
        return value.slice(0, kept);
      } else if (!isQuoted && space.test(character)) {
        if (value !== '') value += character;
      } else if (character === '\\') {
        const escaped = this.#next();
        // The end of the file counts as the end of a line.
        kept = value.length;
        if (escaped === '\n' || escaped === undefined) continue;
        const meant = escapes[escaped];
        if (meant === undefined) this.#fail('an unknown escape sequence');
        value += meant;
        kept = value.length;
      } else {
        value += character;
        kept = value.length;
      }
    }
  }
}
