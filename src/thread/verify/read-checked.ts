import type { IndexEntry } from '../../cas/index-blob.ts';
import { parseCommit } from '../../git/commit.ts';
import { readCommitData } from '../../git/read.ts';
import { formatOfId, type ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { assertValid } from '../../schema/validate.ts';
import { eventOf, kindOfFile, type ThreadCommit, type ThreadEvent } from '../thread-commit.ts';
import { faultOfHeaders } from './fault-of-headers.ts';
import { attempt, type Report } from './finding.ts';
import type { NodeCache } from './known-nodes.ts';
import { readFiles, type CommitFiles } from './read-files.ts';

/** A commit of a thread whose node is of the form it has to be, and its files. */
export type CheckedCommit = {
  commit: ThreadCommit;
  files: CommitFiles;
  /** How its object differs from what uwf writes; `undefined` if it does not. */
  fault: string | undefined;
};

/** Reads a commit of a thread, every folder of its tree, and the node that makes it one; `undefined` if it is none. */
export async function readChecked(
  repository: Repository,
  cache: NodeCache,
  id: ObjectId,
  report: Report,
): Promise<CheckedCommit | undefined> {
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
