import { orElse } from '../../or-else.ts';

const letters: Readonly<Record<string, string>> = {
  '\x07': 'a',
  '\b': 'b',
  '\t': 't',
  '\n': 'n',
  '\v': 'v',
  '\f': 'f',
  '\r': 'r',
  '"': '"',
  '\\': '\\',
};

/**
 * Writes a path as git prints it: in double quotes with escapes if it has control characters, quotes, backslashes or, unless
 * `core.quotePath` is false, bytes outside of ASCII; otherwise as it is.
 *
 * @param path in Latin-1: each byte is a character
 * @param isQuotingAll the value of `core.quotePath`
 * Source: `quote_c_style` in git's quote.c; git-config(1), `core.quotePath`.
 */
export function quotePath(path: string, isQuotingAll: boolean = true): string {
  const text = isQuotingAll ? undefined : textOfPath(path);
  // git prints control characters beyond ASCII as they are, but they can control a terminal.
  const escaped =
    text === undefined
      ? path.replaceAll(/[\0-\x1f"\\\x7f-\xff]/g, escapeByte)
      : text.replaceAll(/[\0-\x1f"\\\x7f-\x9f]/g, (character) =>
          Buffer.from(character).toString('latin1').replaceAll(/./gs, escapeByte),
        );
  return escaped === (text ?? path) ? escaped : `"${escaped}"`;
}

function escapeByte(byte: string): string {
  return `\\${letters[byte] ?? byte.charCodeAt(0).toString(8).padStart(3, '0')}`;
}

/**
 * Writes a path for programs: as it is, or as {@link quotePath} does where it is not UTF-8 or begins with a quote.
 *
 * A text that begins with a quote is always quoted, so no two paths look the same.
 */
export function pathAsText(path: string): string {
  const text = path.startsWith('"') ? undefined : textOfPath(path);
  return text ?? quotePath(path);
}

/** Writes a path from {@link pathAsText} for people, as git prints it. */
export function printedPath(text: string, isQuotingAll: boolean): string {
  return text.startsWith('"') ? text : quotePath(Buffer.from(text).toString('latin1'), isQuotingAll);
}

/** A path that is in Latin-1, as a text; `undefined` if it is not UTF-8. */
export function textOfPath(path: string): string | undefined {
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return orElse(() => utf8.decode(Buffer.from(path, 'latin1')), undefined);
}
