import { mapValues } from '../../json.ts';
import type { OutputStream } from '../process/cli-environment.ts';

/** What most texts consist of: a list of 100,000 threads measures a million of them. */
const plain = /^[ -~]*$/;
const plainWords = /^[!-~]+(?: [!-~]+)*$/;
// oxlint-disable-next-line no-control-regex -- the escape character is what is looked for
const colour = /\u001B\[[\d;]*m/g;

/** How many columns of a terminal a text takes; colours take none. */
export function widthOf(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const character of text.replaceAll(colour, '')) width += widthOfCharacter(character);
  return width;
}

/** Cuts a text without colours so that it takes at most so many columns; `…` says that something is missing. */
export function fitTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let fitted = '';
  let width = 0;
  for (const character of text) {
    width += widthOfCharacter(character);
    if (width > columns - 1) break;
    fitted += character;
  }
  return columns < 1 ? '' : `${fitted.trimEnd()}…`;
}

// `\p{Cc}` and its kin take V8 ten times as long to compile.
const controls = String.raw`[\0-\x08\x0B-\x1F\x7F-\x9F]`;
/**
 * Invisible characters that change how the text around them is shown: marks, embeddings and isolates of bidirectional
 * text, line and paragraph separators, invisible operators and format characters, and tags (U+E0000 to U+E007F). Joiners
 * stay, which emoji and some scripts are written with. Source: Unicode TR 9, 2; TR 36, 2; CVE-2021-42574.
 */
const invisible = String.raw`[\u061C\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB]|\uDB40[\uDC00-\uDC7F]`;
const misleading = new RegExp(`${controls}|${invisible}`, 'g');
/** The colours of the palette stay where there are any. */
const misleadingInColour = new RegExp(String.raw`(\x1B\[(?:[012]|3[2-6]|1;31)m)|${controls}|${invisible}`, 'g');
const misleadingInJson = new RegExp(String.raw`[\x7F-\x9F]|${invisible}`, 'g');

/**
 * Makes a text from outside harmless on a terminal: control characters but tab and newline (escape sequences begin with
 * one), and what is invisible and misleads, become `�`.
 */
export function harmless(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(misleading, '\uFFFD');
}

/** Makes a whole text for a terminal harmless, in case a part of it was not; the palette's own colours stay. */
export function allHarmless(text: string, paint: { isColoured: boolean }): string {
  if (!paint.isColoured) return harmless(text);
  return text.replaceAll('\r\n', '\n').replaceAll(misleadingInColour, (_, colour?: string) => colour ?? '\uFFFD');
}

/** Writes the same JSON so that it is harmless on a terminal. */
export function harmlessJson(json: string): string {
  return json.replaceAll(misleadingInJson, (characters) =>
    characters
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/** The same on one line. */
export function oneLine(text: string): string {
  if (plainWords.test(text)) return text;
  return harmless(text).replaceAll(/\s+/g, ' ').trim();
}

function widthOfCharacter(character: string): number {
  if (character <= '~') return 1;
  // Expressions with properties of characters take long to make; ASCII text does not need them.
  // It makes an emoji of the character before it, which is wider then.
  if (character === '\uFE0F') return 1;
  // Marks that stand on the character before them, and characters that take no room.
  if (/^[\p{Mn}\p{Me}\p{Cf}]$/u.test(character)) return 0;
  return isDoubleWidth(character) ? 2 : 1;
}

/** East Asian wide and fullwidth characters, and emoji: two columns. Source: Unicode TR 11, its main blocks; TR 51. */
function isDoubleWidth(character: string): boolean {
  return /^[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]$/u.test(
    character,
  );
}

/** The colour of each kind of text, as ECMA-48 numbers them. */
const colours = {
  /** Ids and hashes. */
  id: '33',
  /** Names of roles, workflows, agents. */
  name: '36',
  title: '1',
  /** What matters less. */
  quiet: '2',
  good: '32',
  warning: '33',
  error: '1;31',
  hint: '34',
} as const;

/** Colours by what a piece of text means. Where there is no colour each gives its text back. */
export type Palette = { readonly isColoured: boolean } & Readonly<
  Record<keyof typeof colours, (text: string) => string>
>;

/**
 * The colours of a stream: only on a terminal, unless the environment says otherwise.
 *
 * `NO_COLOR` (any value but the empty one) switches them off, `FORCE_COLOR` on (`0`: off), `TERM=dumb` off.
 * Source: no-color.org, force-color.org.
 */
export function createPalette(
  stream: Pick<OutputStream, 'isTTY'>,
  env: Readonly<Record<string, string | undefined>>,
): Palette {
  const isColoured = wantsColour(stream, env);
  const painter =
    (code: string) =>
    (text: string): string =>
      isColoured && text !== '' ? `\u001B[${code}m${text}\u001B[0m` : text;
  return { isColoured, ...mapValues(colours, painter) };
}

function wantsColour(stream: Pick<OutputStream, 'isTTY'>, env: Readonly<Record<string, string | undefined>>): boolean {
  if (env['NO_COLOR']) return false;
  const force = env['FORCE_COLOR'];
  if (force !== undefined) return force !== '0' && force !== 'false';
  return stream.isTTY === true && env['TERM'] !== 'dumb';
}

const statusColours = new Map<string, 'good' | 'name' | 'warning' | 'error'>([
  ['ended', 'good'],
  ['completed', 'good'],
  ['running', 'name'],
  ['suspended', 'warning'],
  ['interrupted', 'warning'],
  ['newer', 'warning'],
  ['failed', 'error'],
  ['corrupt', 'error'],
]);

/** A thread's status in its colour: green went well, yellow waits for you, red went wrong. */
export function paintStatus(paint: Palette, status: string): string {
  return paint[statusColours.get(status) ?? 'quiet'](status);
}
