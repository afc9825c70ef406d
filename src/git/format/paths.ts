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

/** A path that cannot be recorded as it is, with the reason and a remedy. `path` is in Latin-1: each byte is a character. */
export type Unrecordable = { path: string; reason: string };

/** Files that a snapshot does not contain as they were. */
export type MissingFiles = {
  count: number;
  /** The first of them, with paths as `pathAsText` writes them, the reason and a remedy. */
  files: { path: string; reason: string }[];
};

/** The reason of a file with a conflict in the index. The tree has it with the marks of the conflict, or as one side has it. */
export const UNRESOLVED = "has a conflict that is not resolved; 'git add' it once it is, or undo what gave it";

export function unresolvedIn(missing: MissingFiles | undefined): string[] {
  return missing?.files.filter(({ reason }) => reason === UNRESOLVED).map(({ path }) => path) ?? [];
}

/** How many are named, and of those how many in a sentence. */
const MAX_NAMED = 100;
const MAX_SHOWN = 5;

/** @returns `undefined` where nothing is missing */
export function missingFiles(paths: readonly Unrecordable[]): MissingFiles | undefined {
  if (paths.length === 0) return undefined;
  const files = paths.slice(0, MAX_NAMED).map(({ path, reason }) => ({ path: pathAsText(path), reason }));
  return { count: paths.length, files };
}

export function describeMissing({ count, files }: MissingFiles): string {
  return listSome(
    files.map(({ path, reason }) => `${printedPath(path, false)} ${reason}`),
    count,
    '; ',
  );
}

/** Names the first few of some paths, which are as `pathAsText` writes them. */
export function nameSome(paths: readonly string[]): string {
  return listSome(
    paths.map((path) => printedPath(path, false)),
    paths.length,
    ', ',
  );
}

function listSome(texts: readonly string[], count: number, between: string): string {
  const shown = texts.slice(0, MAX_SHOWN);
  return [...shown, ...(count > shown.length ? [`and ${count - shown.length} more`] : [])].join(between);
}

/** What changed between two observations of a work tree; only what did is there. */
export type WorkTreeChanges = {
  /** What `HEAD` said, before and after. */
  head?: [string, string];
  index?: true;
  /** `paths` has the first of them, as `pathAsText` writes them. */
  files?: { count: number; paths: string[] };
};

/** What changed outside of a thread's own work tree: in the main one, and in another one that the command was given in. */
export type OutsideChanges = { main?: WorkTreeChanges; given?: WorkTreeChanges };

const MAX_SHOWN_PATHS = 5;

/** Says in words what changed during the turn of a role, and where. {@link isOfOutside} recognises the text. */
export function describeOutside(role: string, { main, given }: OutsideChanges): string {
  return [
    ...(main === undefined ? [] : [`${beginning('main work tree', role)}${describeChanges(main)}`]),
    ...(given === undefined ? [] : [`${beginning('work tree of the command', role)}${describeChanges(given)}`]),
  ].join('; ');
}

/** Tells whether a text is one of {@link describeOutside}. */
export function isOfOutside(role: string, text: string): boolean {
  return ['main work tree', 'work tree of the command'].some((which) => text.startsWith(beginning(which, role)));
}

function beginning(which: string, role: string): string {
  return `the ${which} changed during the turn of ${role}: `;
}

function describeChanges({ head, index, files }: WorkTreeChanges): string {
  const more = files !== undefined && files.count > MAX_SHOWN_PATHS ? ` and ${files.count - MAX_SHOWN_PATHS} more` : '';
  return [
    ...(head === undefined ? [] : [`HEAD was ${head[0]} and is ${head[1]}`]),
    ...(index === undefined ? [] : ['the index changed']),
    ...(files === undefined ? [] : [`these files changed: ${files.paths.slice(0, MAX_SHOWN_PATHS).join(', ')}${more}`]),
  ].join('; ');
}
