/** A command of a console block, and what it is said to print. */
export type ConsoleCommand = {
  command: string;
  expected: string[];
  /** What it exits with; a block says so with a last line `[exit 5]`. */
  exitCode: number;
};

/** What placeholders such as `<thread>` stood for, by name. */
export type Captures = Map<string, string>;

/**
 * Reads a console block: lines that begin with `$ ` are commands (continued by lines after a final backslash), the lines
 * up to the next are what they print.
 */
export function parseConsole(text: string): ConsoleCommand[] {
  const commands: ConsoleCommand[] = [];
  for (const line of text.trimEnd().split('\n')) {
    const last = commands.at(-1);
    if (last !== undefined && last.expected.length === 0 && last.command.endsWith('\\')) {
      last.command += `\n${line}`;
    } else if (line.startsWith('$ ')) {
      commands.push({ command: line.slice(2), expected: [], exitCode: 0 });
    } else if (last !== undefined) {
      const exit = /^\[exit (?<code>\d+)\]$/.exec(line);
      if (exit === null) last.expected.push(line);
      else last.exitCode = Number(exit.groups?.['code']);
    }
  }
  return commands;
}

const placeholder = /<(?<name>[a-z][a-z-]*)>/g;

/** Puts what was captured in the place of the placeholders of a command; unknown ones stay. */
export function substitute(command: string, captures: Captures): string {
  return command.replace(placeholder, (whole, name: string) => captures.get(name) ?? whole);
}

/**
 * Compares what was printed with what a block says.
 *
 * In a line `…` stands for any text, also none; a line that is `…` alone stands for any number of lines. `<name>` stands
 * for one word: the same one everywhere, once it is known; the first is added to `captures`.
 * @returns the first line that is not as said, or undefined if all are
 */
export function mismatch(
  expected: readonly string[],
  printed: readonly string[],
  captures: Captures,
): string | undefined {
  const [pattern, ...otherPatterns] = expected;
  const [line, ...otherLines] = printed;
  if (pattern === undefined) return line === undefined ? undefined : `printed, but not expected: ${line}`;
  if (pattern.trim() === '…') return mismatchAfterGap(otherPatterns, printed, captures);
  if (line === undefined) return `expected, but not printed: ${pattern}`;
  if (!matchesLine(pattern, line, captures)) return `expected: ${pattern}\nprinted:  ${line}`;
  return mismatch(otherPatterns, otherLines, captures);
}

function mismatchAfterGap(
  patterns: readonly string[],
  lines: readonly string[],
  captures: Captures,
): string | undefined {
  let first: string | undefined;
  for (let skipped = 0; skipped <= lines.length; skipped += 1) {
    const attempt = new Map(captures);
    const problem = mismatch(patterns, lines.slice(skipped), attempt);
    if (problem === undefined) {
      for (const [name, value] of attempt) captures.set(name, value);
      return undefined;
    }
    first ??= problem;
  }
  return first;
}

function matchesLine(pattern: string, line: string, captures: Captures): boolean {
  const names: string[] = [];
  const source = pattern
    .trimEnd()
    .split(/(…|<[a-z][a-z-]*>)/)
    .map((part) => {
      if (part === '…') return '.*';
      const name = /^<(?<name>[a-z][a-z-]*)>$/.exec(part)?.groups?.['name'];
      if (name === undefined) return escape(part);
      const known = captures.get(name);
      if (known !== undefined) return escape(known);
      if (names.includes(name)) return `\\k<${name.replaceAll('-', '_')}>`;
      names.push(name);
      return `(?<${name.replaceAll('-', '_')}>\\S+?)`;
    })
    .join('');
  const match = new RegExp(`^${source}$`, 'u').exec(line.trimEnd());
  if (match === null) return false;
  for (const name of names) captures.set(name, match.groups?.[name.replaceAll('-', '_')] ?? '');
  return true;
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}
