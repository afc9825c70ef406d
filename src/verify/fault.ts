import type { ObjectId } from '../git/format/object-id.ts';
import { asFault } from '../thread/thread-errors.ts';

/** Something that is wrong with a commit of a thread. */
export type Fault = {
  commit: ObjectId;
  /** The file in the commit's tree; null for the commit itself. */
  path: string | null;
  /** A sentence without its full stop. */
  what: string;
};

/** Records a fault of one commit. */
export type ReportFault = (path: string | null, what: string) => void;

/**
 * Runs one part of a check. An error that is a fault of the data (`faultOf`) is reported, so that the rest of the check
 * goes on. Other errors are thrown.
 *
 * @returns the result of the part, or `undefined` if an error stopped it
 */
export async function attempt<T>(
  report: ReportFault,
  path: string | null,
  part: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await part();
  } catch (error) {
    report(path, asFault(error));
    return undefined;
  }
}

/** A fault as a sentence that names the commit. */
export function sentenceOf({ commit, path, what }: Fault): string {
  return `commit ${commit}${path === null ? '' : `, ${shorten(path)}`}: ${what}`;
}

/** Records the first fault of a commit. `reason` returns it as a sentence. */
export function firstFault(commit: ObjectId): { report: ReportFault; reason: () => string | undefined } {
  let found: string | undefined;
  return { report: (path, what) => void (found ??= sentenceOf({ commit, path, what })), reason: () => found };
}

const MAX_PATH = 80;

/** Truncates the middle of a long path. Paths from a remote have no length limit, and the error text follows the path. */
function shorten(path: string): string {
  const half = MAX_PATH / 2;
  return path.length > MAX_PATH ? `${path.slice(0, half)}…${path.slice(-half)}` : path;
}
