import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/object-id.ts';
import { NotHereYet } from './not-here-yet.ts';

/** Something about a commit of a thread that is not as it has to be. */
export type Finding = {
  commit: ObjectId;
  /** The file of the commit's tree that it is about; null where it is the commit itself. */
  path: string | null;
  /** A sentence without its full stop. */
  what: string;
};

/** Takes down what is found about one commit. */
export type Report = (path: string | null, what: string) => void;

/**
 * Does a part of a check; what stops it is a finding like any other, and the rest of the check goes on.
 *
 * So does what was not fetched yet ({@link NotHereYet}), without being one. What is no fault of what is looked at
 * ({@link faultOf}) is thrown on.
 * @returns what the part gives, or `undefined` if it was stopped
 */
export async function attempt<T>(report: Report, path: string | null, part: () => Promise<T>): Promise<T | undefined> {
  try {
    return await part();
  } catch (error) {
    // Nothing is wrong with what is still to come.
    if (error instanceof NotHereYet) return undefined;
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    report(path, fault);
    return undefined;
  }
}

/**
 * Says what an error tells of the data that was looked at; `undefined` for trouble of the machine (a disk that cannot be
 * read) and for a request to stop.
 *
 * Damage is a fault, and so is a value or a pattern that takes for ever to check. An error that nothing of uwf raises on
 * purpose is one as well: the data may be sound then and uwf mistaken, but the next thread can still be looked at.
 */
export function faultOf(error: unknown): string | undefined {
  if (error instanceof UwfError) return error.kind === 'data' || error.kind === 'timeout' ? error.message : undefined;
  const isUnexpected = error instanceof Error && error.name !== 'AbortError' && !('syscall' in error);
  return isUnexpected ? `${UNEXPECTED}: ${error.name}: ${error.message}` : undefined;
}

/** How a finding begins that an error made which nothing of uwf raises on purpose. */
export const UNEXPECTED = 'it cannot be checked';

/** Takes down the first thing that is found about a commit, and says what it was. */
export type FirstFinding = { report: Report; reason: () => string | undefined };

/** Takes down the first thing that is found about a commit, as a sentence that names it, and nothing after it. */
export function firstFinding(commit: ObjectId): FirstFinding {
  let found: string | undefined;
  return {
    report(path, what) {
      found ??= `commit ${commit}${path === null ? '' : `, ${shortened(path)}`}: ${what}`;
    },
    reason: () => found,
  };
}

const LONGEST_PATH = 80;

/** A path whose middle is left out where it is long: whoever made it decides how long, and what is wrong comes after it. */
function shortened(path: string): string {
  const half = LONGEST_PATH / 2;
  return path.length > LONGEST_PATH ? `${path.slice(0, half)}…${path.slice(-half)}` : path;
}
