// oxlint-disable-next-line no-control-regex -- the escape character is what is looked for
const colour = /\u001B\[[\d;]*m/g;

/** How many columns of a terminal a text takes; colours take none. */
export function widthOf(text: string): number {
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

/**
 * Makes a text from outside harmless on a terminal: control characters but tab and newline (escape sequences begin with
 * one) become `�`.
 */
export function harmless(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for; `\p{Cc}` says the same and takes V8 ten times as long to compile
  return text.replaceAll('\r\n', '\n').replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/g, '\uFFFD');
}

/** The same on one line. */
export function oneLine(text: string): string {
  return harmless(text).replaceAll(/\s+/g, ' ').trim();
}

function widthOfCharacter(character: string): number {
  if (character <= '~') return 1;
  // Expressions with properties of characters take long to make; here nobody pays for them who writes ASCII.
  if (isZeroWidth(character)) return 0;
  return isDoubleWidth(character) ? 2 : 1;
}

/** Marks that stand on the character before them, and characters that take no room. */
function isZeroWidth(character: string): boolean {
  return /^[\p{Mn}\p{Me}\p{Cf}]$/u.test(character);
}

/** East Asian wide and fullwidth characters, and emoji: two columns. Source: Unicode TR 11, its main blocks. */
function isDoubleWidth(character: string): boolean {
  return /^[\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F680}-\u{1F6FF}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}]$/u.test(
    character,
  );
}
