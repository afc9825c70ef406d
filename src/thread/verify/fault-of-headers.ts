import { encodeCommit, type Commit } from '../../git/commit.ts';

/** Headers that somebody may add who signs a commit; their values continue in lines that begin with a space. */
const signatures = /^gpgsig(?:-sha256)? [^\n]*\n(?: [^\n]*\n)*/gm;

/**
 * Says how a commit differs from what uwf writes for it; `undefined` if it does not. Headers of its own (`encoding`, or one
 * that git does not know), dates in another time zone and names that git would not write are told so. A signature may be
 * added.
 */
export function faultOfHeaders(data: Uint8Array, commit: Commit): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = bytes.indexOf('\n\n') + 1;
  const headers = bytes.toString('latin1', 0, end).replaceAll(signatures, '');
  try {
    const expected = Buffer.from(encodeCommit(commit));
    if (Buffer.concat([Buffer.from(headers, 'latin1'), bytes.subarray(end)]).equals(expected)) return undefined;
  } catch {
    // A commit that could not be written was not written by uwf.
  }
  return 'it is not as uwf writes a commit: it has other headers than tree, parent, author, committer and a signature, or they are written differently';
}
