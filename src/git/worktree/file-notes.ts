import { pathAsText, printedPath } from '../format/paths.ts';

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

/** The files among them that have a conflict which is not resolved. */
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

/** Names the first few in one sentence. */
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

/** How many paths a text names. */
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
