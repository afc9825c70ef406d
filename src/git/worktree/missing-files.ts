import { pathAsText, printedPath } from '../format/quote-path.ts';

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
