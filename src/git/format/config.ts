import { UwfError } from '../../errors.ts';

/** One variable of a configuration file. */
export type ConfigEntry = {
  /**
   * Section and key in lower case, the subsection between them as written: `remote.Origin.url`. The section is empty before
   * the first header.
   */
  name: string;
  /** `undefined` for a variable without `=`, which git reads as true. */
  value: string | undefined;
  line: number;
};

/** A configuration file that git cannot read either. */
export class InvalidGitConfig extends UwfError {
  constructor(path: string, line: number, reason: string) {
    super(`${path}:${line}: ${reason}`, {
      code: 'invalid-git-config',
      kind: 'environment',
      hint: "run 'git config --list --local' to see what git makes of it",
      facts: { path, line },
    });
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
export function parseGitConfig(text: string, path: string): ConfigEntry[] {
  return new ConfigParser(text, path).parse();
}

/** The last value of a variable: later lines win. Distinguishes absent (`undefined`) from valueless. */
export function findConfigEntry(entries: readonly ConfigEntry[], name: string): ConfigEntry | undefined {
  return entries.findLast((entry) => entry.name === name);
}

/** The part of a name between the first dot and the last; `undefined` where there is one dot only. */
export function subsectionOf(name: string): string | undefined {
  const [first, last] = [name.indexOf('.'), name.lastIndexOf('.')];
  return first === last ? undefined : name.slice(first + 1, last);
}

/** The part of a name behind the last dot. */
export function keyOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
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

/** The characters that git treats as white space. Source: `sane_ctype` in git's ctype.c. */
const space = /[ \t\n\r]/;
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', b: '\b', '\\': '\\', '"': '"' };

class ConfigParser {
  readonly #text: string;
  readonly #path: string;
  #at = 0;
  #line = 1;
  /** Section and subsection, with a dot behind each. */
  #prefix = '.';
  readonly #entries: ConfigEntry[] = [];

  constructor(text: string, path: string) {
    // Editors on Windows leave a byte order mark, and carriage returns before line ends.
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
    // `[section.sub]` is the old form of a subsection, which is case-insensitive. A quoted subsection can follow it.
    const quoted = match[2]?.replace(/\\(.)/gsu, '$1');
    this.#prefix = quoted === undefined ? `${name}.` : `${name}.${quoted}.`;
  }

  #variable(first: string): void {
    const line = this.#line;
    const match = /^[A-Za-z][A-Za-z0-9-]*/.exec(first + this.#text.slice(this.#at));
    if (match === null) this.#fail(`a variable cannot start with '${first}'`);
    this.#at += match[0].length - 1;
    this.#entries.push({ name: this.#prefix + match[0].toLowerCase(), value: this.#assignment(), line });
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
    // The length up to the last character that is quoted, escaped or not white space; white space behind it is cut.
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
