import type { IndexEntry } from '../../cas/index-blob.ts';
import { encodeCommit, parseCommit, type Commit } from '../../git/format/commit.ts';
import { readCommitData } from '../../git/stores/read.ts';
import { formatOfId, type ObjectId } from '../../git/format/object-id.ts';
import { assertValid } from '../../schema/validate.ts';
import { eventOf, kindOfFile, type ThreadCommit, type ThreadEvent } from '../../thread/thread-commit.ts';
import { attempt, type ReportFault } from '../fault.ts';
import type { NodeCache } from '../chain/known-nodes.ts';
import { readFiles, type CommitFiles } from './read-files.ts';

/** A commit of a thread whose node is valid, and its files. */
export type CheckedCommit = {
  commit: ThreadCommit;
  files: CommitFiles;
  /** Why its object differs from what uwf writes; `undefined` if it does not. */
  fault: string | undefined;
};

/** Reads a commit of a thread, all folders of its tree, and its node. @returns `undefined` if it is no commit of a thread */
export async function readChecked(
  cache: NodeCache,
  id: ObjectId,
  report: ReportFault,
): Promise<CheckedCommit | undefined> {
  const { repository } = cache;
  const data = await attempt(report, null, () => readCommitData(repository.objects, id));
  const commit = data && (await attempt(report, null, async () => parseCommit(data, formatOfId(id))));
  if (data === undefined || commit === undefined) return undefined;
  const files = await readFiles(repository, commit.tree, report);
  const named = files.index.flatMap((entry) => {
    const kind = kindOfFile(entry.path);
    return kind === undefined ? [] : [{ entry, kind }];
  });
  const [only, second] = named;
  if (only === undefined || second !== undefined) {
    const found = second === undefined ? 'none' : `${named.length}`;
    report(null, `its tree has to have one of start, step, suspend, resume and end.json; it has ${found}`);
    return undefined;
  }
  const { entry, kind } = only;
  const event = await attempt(report, entry.path, () => readEvent(cache, id, entry, kind));
  return (
    event && {
      commit: { id, commit, index: files.index, hash: entry.hash, ...event },
      files,
      fault: faultOfHeaders(data, commit),
    }
  );
}

async function readEvent(
  cache: NodeCache,
  id: ObjectId,
  entry: IndexEntry,
  kind: ThreadCommit['kind'],
): Promise<ThreadEvent> {
  const node = await cache.read(entry);
  const event = eventOf(id, kind, node);
  await assertValid(node.type, node.payload);
  return event;
}

/** Headers of a signature, which a user may add. Their values continue on lines that begin with a space. */
const signatures = /^gpgsig(?:-sha256)? [^\n]*\n(?: [^\n]*\n)*/gm;

/**
 * Returns a fault if a commit's bytes differ from what uwf writes: other headers (`encoding`, or unknown ones), dates in
 * another time zone, or names that git does not write. A signature is allowed.
 */
function faultOfHeaders(data: Uint8Array, commit: Commit): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const end = bytes.indexOf('\n\n') + 1;
  const headers = bytes.toString('latin1', 0, end).replaceAll(signatures, '');
  try {
    const expected = Buffer.from(encodeCommit(commit));
    if (Buffer.concat([Buffer.from(headers, 'latin1'), bytes.subarray(end)]).equals(expected)) return undefined;
  } catch {
    // uwf cannot write this commit.
  }
  return 'it is not as uwf writes a commit: it has other headers than tree, parent, author, committer and a signature, or they are written differently';
}
