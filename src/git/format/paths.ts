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

/** Code points that HFS+ leaves out when it compares names. Source: `next_hfs_char` in git's utf8.c. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;

/**
 * Tells whether some file system would take a name for `.git`, so that checking it out could overwrite a repository.
 *
 * Any case; HFS+ with its ignored code points; NTFS with its short name `git~1`, trailing dots and spaces, alternate
 * streams after `:` and backslashes as separators.
 * Source: `is_hfs_dotgit` (utf8.c), `is_ntfs_dotgit` (path.c), as `fsck_tree` (fsck.c) applies them.
 */
export function isDotGit(name: string): boolean {
  return isOnHfs(name, '.git') || ntfsNames(name).some((part) => part === '.git' || part === 'git~1');
}

function isOnHfs(name: string, wanted: string): boolean {
  return name.replace(ignoredByHfs, '').toLowerCase() === wanted;
}

/** The parts of a path on NTFS, as it compares them. */
function ntfsNames(name: string): string[] {
  const stems = name.split('\\').map((part) => part.split(':', 1)[0] ?? '');
  return stems.map((stem) => stem.replace(/[. ]+$/, '').toLowerCase());
}

const MAX_LENGTH = 300;

/** Makes the words of a remote safe for a terminal: removes control characters and limits the length. */
export function printable(text: string): string {
  const clean = text.replaceAll(/[\p{Cc}\p{Cf}\p{Surrogate}]+/gu, ' ').trim();
  return clean.length > MAX_LENGTH ? `${clean.slice(0, MAX_LENGTH)}…` : clean;
}
