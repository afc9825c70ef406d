import { UwfError } from '../errors.ts';
import { ObjectBatch } from '../git/object-batch.ts';
import { isObjectId, type ObjectFormat, type ObjectId } from '../git/object-id.ts';
import { readBlob, readCommit, readTree, type ObjectReader } from '../git/read.ts';
import { parseRefName } from '../git/ref-name.ts';
import type { RefName } from '../git/ref-store.ts';
import { isThreadId, type ThreadId } from './thread-id.ts';

/** Where is said of threads that secrets were taken out of them, a ref for each. */
export const REDACTED_PREFIX = 'refs/uwf/redacted/';

const FILE = 'redacted';
const MAX_BYTES = 16 * 1024 * 1024;

const nobody = { name: 'uwf', email: 'uwf@localhost', atMs: 0 };

/** What became of the commits of a thread that secrets were taken out of. */
export type RedactionRecord = {
  /** The id that it has now: another one only for a child thread, whose id follows from a commit of its caller. */
  thread: ThreadId;
  /** What each commit was, and what it is now. */
  commits: ReadonlyMap<ObjectId, ObjectId>;
};

/** Something under `refs/uwf/redacted/` is no record. */
export class InvalidRecord extends UwfError {
  constructor(id: ObjectId, reason: string) {
    super(`commit ${id} is no record of a redaction: ${reason}`, {
      code: 'invalid-redaction-record',
      kind: 'data',
      hint: 'it was not written by uwf; remove the ref that leads to it',
    });
  }
}

export function redactedRef(thread: ThreadId): RefName {
  return parseRefName(REDACTED_PREFIX + thread);
}

/**
 * Adds the commit of a record to a batch: a text of the id and a line for each commit, sorted, after the records that it
 * takes in. It leads to no commit of a thread, so that what it names can go.
 */
export function addRecord(batch: ObjectBatch, record: RedactionRecord, parents: readonly ObjectId[]): ObjectId {
  const lines = [...record.commits].map(([before, after]) => `${before} ${after}\n`).toSorted();
  const blob = batch.addBlob(`${record.thread}\n${lines.join('')}`);
  const tree = batch.addTree([{ mode: '100644', name: FILE, id: blob }]);
  const message = 'redacted\n';
  return batch.addCommit({ tree, parents: [...parents].toSorted(), author: nobody, committer: nobody, message });
}

/**
 * Reads a record.
 * @throws {InvalidRecord} if it is not as {@link addRecord} writes one
 */
export async function readRecord(
  objects: ObjectReader & { format: ObjectFormat },
  id: ObjectId,
): Promise<RedactionRecord> {
  const { tree, parents } = await readCommit(objects, id);
  const [file] = await readTree(objects, tree);
  if (file?.name !== FILE) throw new InvalidRecord(id, `it has no file '${FILE}'`);
  const text = Buffer.from(await readBlob(objects, file.id, { maxBytes: MAX_BYTES })).toString('utf8');
  const [thread = '', ...lines] = text.split('\n');
  if (!isThreadId(thread)) throw new InvalidRecord(id, 'it names no thread');
  const commits = new Map<ObjectId, ObjectId>();
  for (const line of lines.slice(0, -1)) {
    const [before = '', after = '', ...rest] = line.split(' ');
    if (!isObjectId(before) || !isObjectId(after) || rest.length > 0)
      throw new InvalidRecord(id, 'a line is no pair of commits');
    commits.set(before, after);
  }
  const record = { thread, commits };
  if (addRecord(new ObjectBatch(objects.format), record, parents) !== id)
    throw new InvalidRecord(id, 'uwf writes it otherwise');
  return record;
}

/** One record of what two say, the later one last: what became of what an earlier one left. */
export function joinRecords(earlier: RedactionRecord, later: RedactionRecord): RedactionRecord {
  const commits = new Map<ObjectId, ObjectId>();
  for (const [before, after] of earlier.commits) commits.set(before, later.commits.get(after) ?? after);
  for (const [before, after] of later.commits) commits.set(before, after);
  return { thread: later.thread, commits };
}
