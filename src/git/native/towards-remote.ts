import { GitFailed, type GitRun } from './run-git.ts';

/** How git takes little memory, and maps little of a pack at a time: one object of it may be larger than what there is. */
export const littleMemory: readonly string[] = [
  'core.bigFileThreshold=4m',
  'core.deltaBaseCacheLimit=16m',
  'core.packedGitWindowSize=4m',
  'core.packedGitLimit=32m',
  'pack.threads=1',
];

const MiB = 1024 * 1024;

/**
 * What git may hold in memory of what a remote tells and sends: some 900,000 refs. An object that is no blob, and what a
 * delta makes, it holds whole; a million objects of ordinary size need less than this. Helpers that git starts are held to
 * it too, so it is no less.
 */
const maxDataBytes = 192 * MiB;
/** Of a list of refs this process holds as much; also what a remote says to a person ends. */
const maxOutputBytes = 32 * MiB;

/** A remote that works has said or sent something by then; one that tells of a ref a second has not. */
const speaksWithinMs = 120_000;
/** A person looks for a password, or for a key. */
const asksWithinMs = 600_000;

type Limits = 'isForRemote' | 'mayAsk' | 'maxDataBytes' | 'maxOutputBytes' | 'speaksWithinMs';

/** How git is run that talks to a remote, which may tell of refs without end. */
export function towardsRemote(mayAsk: boolean): Required<Pick<GitRun, Limits>> {
  return {
    isForRemote: true,
    mayAsk,
    maxDataBytes,
    maxOutputBytes,
    speaksWithinMs: mayAsk ? asksWithinMs : speaksWithinMs,
  };
}

/** Says of a git that was stopped by its limit why that is; anything else comes through. */
export function explainLimit(error: unknown): unknown {
  if (!(error instanceof GitFailed) || !/^fatal: (?:out of memory|.*alloc)/im.test(error.said)) return error;
  const said = `it tells of more than fits into ${maxDataBytes / MiB} MiB, or of refs without end`;
  return new GitFailed(error.args, said, error.printed);
}
