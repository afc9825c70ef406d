import { isOutOfMemory } from './git-output.ts';
import { GitFailed, type GitRun } from '../process/run-git.ts';

/** Settings for git to use little memory and map little of a pack at a time: one object can be larger than the memory. */
export const littleMemory: readonly string[] = [
  'core.bigFileThreshold=4m',
  'core.deltaBaseCacheLimit=16m',
  'core.packedGitWindowSize=4m',
  'core.packedGitLimit=32m',
  'pack.threads=1',
];

/** For a folder of this machine git runs the other side too, which gets the same limits of memory. */
export const localUploadPack: string = [
  'git',
  ...[...littleMemory, 'pack.deltaCacheSize=16m', 'pack.windowMemory=32m'].map((setting) => `-c ${setting}`),
  'upload-pack',
].join(' ');

const MiB = 1024 * 1024;

/**
 * The limit of memory for data from a remote: some 900,000 refs. git holds objects other than blobs, and the results of
 * deltas, as a whole; a million objects of ordinary size need less. The limit applies to the helpers of git too, so it cannot
 * be lower.
 */
const MAX_DATA_BYTES = 192 * MiB;
/** The limit of output that this process holds: a list of refs, or messages of a remote. */
const MAX_OUTPUT_BYTES = 32 * MiB;
/** The limit of a trace with a list of refs; over http it has each ref twice. */
export const MAX_TRACE_BYTES: number = 96 * MiB;

/** A working remote has sent something by then, also one that sends slowly. */
const SPEAKS_WITHIN_MS = 120_000;
/** Time for a person to enter a password. */
const ASKS_WITHIN_MS = 600_000;

type Limits = 'isForRemote' | 'mayAsk' | 'maxDataBytes' | 'maxOutputBytes' | 'speaksWithinMs';

/** Limits for a git that talks to a remote, which can send refs without end. */
export function towardsRemote(mayAsk: boolean): Required<Pick<GitRun, Limits>> {
  return {
    isForRemote: true,
    mayAsk,
    maxDataBytes: MAX_DATA_BYTES,
    maxOutputBytes: MAX_OUTPUT_BYTES,
    speaksWithinMs: mayAsk ? ASKS_WITHIN_MS : SPEAKS_WITHIN_MS,
  };
}

/** Explains the failure of a git that reached its limit of memory, or of a trace; returns other errors unchanged. */
export function explainLimit(error: unknown, hasFullTrace = false): unknown {
  if (!(error instanceof GitFailed) || !(hasFullTrace || isOutOfMemory(error))) return error;
  const most = hasFullTrace ? MAX_TRACE_BYTES : MAX_DATA_BYTES;
  const said = `it tells of more than fits into ${most / MiB} MiB, or of refs without end`;
  return new GitFailed(error.args, said, error.printed);
}
