import { pathAsText, printedPath } from '../format/quote-path.ts';
import type { Unrecordable } from './find-changes.ts';

/** Files that a snapshot does not contain as they were. */
export type MissingFiles = {
  count: number;
  /** The first of them, with paths as `pathAsText` writes them, the reason and a remedy. */
  files: { path: string; reason: string }[];
};

/** How many are named. */
const MAX_NAMED = 100;

/** @returns `undefined` where nothing is missing */
export function missingFiles(paths: readonly Unrecordable[]): MissingFiles | undefined {
  if (paths.length === 0) return undefined;
  const files = paths.slice(0, MAX_NAMED).map(({ path, reason }) => ({ path: pathAsText(path), reason }));
  return { count: paths.length, files };
}

/** Names the first few in one sentence. */
export function describeMissing({ count, files }: MissingFiles): string {
  const shown = files.slice(0, 5).map(({ path, reason }) => `${printedPath(path, false)} ${reason}`);
  const more = count > shown.length ? [`and ${count - shown.length} more`] : [];
  return [...shown, ...more].join('; ');
}
