import { UwfError } from '../../errors.ts';

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
 * @param path names the file in errors
 * @throws {InvalidGitConfig} where git would stop with "bad config line"
 * Source: git-config(1), "CONFIGURATION FILE"; `git_parse_source` in git's config.c.
 */
export function parseGitConfig(text: string, path: string): ConfigEntry[] {
  // Editors on Windows leave a byte order mark, and carriage returns before line ends.
  const source = text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n');
  const entries: ConfigEntry[] = [];
  let [at, line, prefix] = [0, 1, '.'];
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    const [taken] = match ?? [''];
    at += taken.length;
    line += taken.split('\n').length - 1;
    return match;
  };
  const fail = (reason: string): never => {
    throw new InvalidGitConfig(path, line, reason);
  };
  const decode = (_: string, escaped?: string): string =>
    escaped === undefined ? '' : (escapes[escaped] ?? fail('an unknown escape sequence'));
  const takeValue = (): string => {
    // White space counts between other characters, and in quotation marks.
    let [value, kept] = ['', 0];
    for (let part = take(piece); part !== null; part = take(piece)) {
      const [written, blank] = part;
      if (blank === undefined) {
        value += written.replaceAll(/"|\\([^]?)/g, decode);
        kept = value.length;
      } else if (value !== '') value += blank;
    }
    if (take(lineEnd) === null) fail('a quoted value is not closed');
    return value.slice(0, kept);
  };
  for (take(nothing); at < source.length; take(nothing)) {
    const section = take(header);
    if (section === null) {
      const start = line;
      const [, name = '', sign] = take(variable) ?? fail('this is neither a section header nor a variable');
      entries.push({ name: prefix + name.toLowerCase(), value: sign === '=' ? takeValue() : undefined, line: start });
    } else {
      // `[section.sub]` is the old form of a subsection, which is case-insensitive. A quoted subsection can follow it.
      const [, name = '', quoted] = section;
      const subsection = quoted === undefined ? '' : `${quoted.replace(/\\(.)/gsu, '$1')}.`;
      prefix = `${name.toLowerCase()}.${subsection}`;
    }
  }
  return entries;
}

/** White space (`sane_ctype` in git's ctype.c), and comments. */
const nothing = /(?:[ \t\n\r]+|[#;][^\n]*)*/y;
const header = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/y;
const variable = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=|\n|$)/y;
/** A part of a value: what quotation marks enclose, an escape sequence, white space, or other characters. */
const piece = /"[^"\\\n]*(?:\\[^][^"\\\n]*)*"|\\(?:[^]|$)|([ \t\r]+)|[^"\\\n#; \t\r]+/y;
const lineEnd = /(?:[#;][^\n]*)?(?:\n|$)/y;
/** The end of a line or of the file behind a backslash is left out. */
const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  b: '\b',
  '\\': '\\',
  '"': '"',
  '\n': '',
  '': '',
};

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

/** Reads a variable as git reads booleans. @throws {InvalidGitConfig} if the value is no boolean */
export function configBoolean(entry: ConfigEntry | undefined, path: string): boolean | undefined {
  if (entry === undefined) return undefined;
  if (entry.value === undefined) return true;
  const value = entry.value.toLowerCase();
  if (['true', 'yes', 'on'].includes(value)) return true;
  if (['false', 'no', 'off', ''].includes(value)) return false;
  if (/^[+-]?\d+[kmg]?$/.test(value)) return Number.parseInt(value, 10) !== 0;
  throw new InvalidGitConfig(path, entry.line, `'${entry.value}' is not a boolean`);
}
