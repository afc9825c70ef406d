import { relative } from 'node:path';

import { cutText } from '../../processes/head-and-tail.ts';
import type { Deed } from './deed.ts';
import { shellLineOf } from './deed.ts';
import { isWithin } from '../../../is-within.ts';

/** What is shown of a line, and how many lines of a text: its beginning and its end. */
const MAX_LINE = 2000;
const MAX_LINES = { head: 40, tail: 15 };
/** Characters that a terminal obeys, or that hide or turn around what is beside them; newline and tab are none. */
const TRICKS = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Says on one line what would be done, by its arguments: `run npm publish (execute)`. No control character of an agent's
 * is in it.
 */
export function nameDeed(deed: Deed, cwd: string): string {
  const { kinds, command, changes, paths, title, more } = deed;
  const names = paths.filter((path) => path !== cwd).map((path) => shownPath(path, cwd));
  const what =
    command !== undefined
      ? `run ${shellLineOf(command)}`
      : changes.length > 0
        ? `write ${[...new Set(changes.map(({ path }) => shownPath(path, cwd)))].join(', ')}`
        : names.length > 0
          ? `${kinds[0]} ${names.join(', ')}`
          : Object.keys(more).length > 0
            ? `use a tool with ${JSON.stringify(more)}`
            : `do what it only calls ${JSON.stringify(title ?? '')}`;
  const unsaid = names.filter((name) => !what.includes(name));
  return `${onOneLine(what)} (${onOneLine([...kinds, ...unsaid].join(', '))})`;
}

/** Says all of what would be done: {@link nameDeed}, and below it, indented, its arguments and the agent's own words. */
export function showDeed(deed: Deed, cwd: string): string {
  const { command, changes, more, title, words } = deed;
  const name = nameDeed(deed, cwd);
  const line = command === undefined ? '' : shellLineOf(command);
  const parts = [
    ...(line.split('\n').length > 2 ? [onLines(line)] : []),
    ...(command?.cwd === undefined || command.cwd === cwd ? [] : [`in ${onOneLine(shownPath(command.cwd, cwd))}`]),
    ...Object.entries(command?.env ?? {}).map(([variable, value]) => `with ${onOneLine(`${variable}=${value}`)}`),
    ...changes.flatMap(({ path, oldText, newText }) => [
      ...(changes.length > 1 ? [`in ${onOneLine(shownPath(path, cwd))}`] : []),
      ...(oldText === undefined || oldText === '' ? [] : [onLines(oldText, '- ')]),
      onLines(newText, '+ '),
    ]),
    ...Object.entries(more).map(([key, value]) => onOneLine(`${key}: ${JSON.stringify(value)}`)),
    ...(title === undefined || title === line || name.includes(title)
      ? []
      : [`it calls this ${JSON.stringify(onOneLine(title, 300))}`]),
    ...(words === '' || words === line ? [] : [`it says ${JSON.stringify(onOneLine(words, 1000))}`]),
  ];
  const lines = keepEnds(parts.flatMap((part) => part.split('\n')));
  return [name, ...lines.map((text) => `  ${text}`)].join('\n');
}

function shownPath(path: string, cwd: string): string {
  return isWithin(path, cwd) ? relative(cwd, path) || '.' : path;
}

/** What a terminal would obey, and what hides in a text, is written out. */
function visible(text: string): string {
  return text.replaceAll(TRICKS, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

function onOneLine(text: string, maxCharacters = MAX_LINE): string {
  const line = visible(text.replaceAll(/\r?\n/gu, ' ⏎ ').replaceAll('\t', ' '));
  if (line.length <= maxCharacters) return line;
  // What is put in front to hide the end of it does not.
  const tail = Math.floor(maxCharacters / 4);
  const [start, end] = [cutText(line, maxCharacters - tail), line.slice(-tail).replace(/^[\uDC00-\uDFFF]/u, '')];
  return `${start} … (${line.length - maxCharacters} more characters) … ${end}`;
}

function onLines(text: string, mark = ''): string {
  const lines = text.replace(/\n$/u, '').split(/\r?\n/u);
  return keepEnds(lines.map((line) => mark + onOneLine(line, 500))).join('\n');
}

function keepEnds(lines: readonly string[]): readonly string[] {
  const { head, tail } = MAX_LINES;
  const left = lines.length - head - tail;
  return left <= 0 ? lines : [...lines.slice(0, head), `… (${left} more lines)`, ...lines.slice(-tail)];
}
