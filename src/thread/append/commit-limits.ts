import { UwfError } from '../../errors.ts';
import { encodeCommit, type Commit } from '../../git/format/commit.ts';

/** Limits of a thread's commit: a fetch refuses larger ones. */
export const MAX_COMMIT_BYTES: number = 1024 * 1024;
export const MAX_PARENTS: number = 2_000;
/** A larger file of a recorded work tree is refused by a fetch, and is neither scanned for secrets nor redacted. */
export const MAX_FILE_BYTES: number = 32 * 1024 * 1024;

/** A commit exceeds the limits of a fetch. Nothing was stored. */
function commitTooLarge(reason: string): UwfError {
  return new UwfError(`this cannot be stored as a commit: ${reason}`, {
    code: 'commit-too-large',
    kind: 'data',
    hint: 'name fewer commits and threads, and keep the status and the names of roles and agents short',
  });
}

/** @throws {UwfError} `commit-too-large` if a fetch would refuse this commit */
export function assertCommitFits(commit: Commit): void {
  const { length } = commit.parents;
  if (length > MAX_PARENTS) throw commitTooLarge(`it has ${length} parents, more than ${MAX_PARENTS}`);
  const { byteLength } = encodeCommit(commit);
  if (byteLength > MAX_COMMIT_BYTES) throw commitTooLarge(`it has ${byteLength} bytes, more than ${MAX_COMMIT_BYTES}`);
}
