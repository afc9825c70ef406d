import { UwfError } from '../../errors.ts';
import { ObjectBatch } from '../../git/stores/object-batch.ts';
import { isObjectId, type ObjectFormat, type ObjectId } from '../../git/format/object-id.ts';
import { readBlob, readCommit, readTree, type ObjectReader } from '../../git/stores/read.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { RefName } from '../../git/ref-store.ts';
import { isThreadId, type ThreadId } from '../thread-id.ts';

/** Redaction records: a ref for each redacted thread. */
export const REDACTED_PREFIX = 'refs/uwf/redacted/';

const FILE = 'redacted';
const MAX_BYTES = 16 * 1024 * 1024;

/** The successors of the commits of a redacted thread. */
export type RedactionRecord = {
  /** The present id of the thread. It changes only for a child thread, whose id follows from a commit of its caller. */
  thread: ThreadId;
  /** The successor of each commit. */
  commits: ReadonlyMap<ObjectId, ObjectId>;
};

/** A commit under `refs/uwf/redacted/` is no redaction record. */
function invalidRecord(id: ObjectId, reason: string): UwfError {
  return new UwfError(`commit ${id} is no record of a redaction: ${reason}`, {
    code: 'invalid-redaction-record',
    kind: 'data',
    hint: 'it was not written by uwf; remove the ref that leads to it',
  });
}

export function redactedRef(thread: ThreadId): RefName {
  return parseRefName(REDACTED_PREFIX + thread);
}

/** Tells whether {@link readRecord} can read a record. */
export function fitsInRecord({ thread, commits }: RedactionRecord): boolean {
  const [[id] = ['']] = commits;
  return thread.length + 1 + commits.size * (2 * id.length + 2) <= MAX_BYTES;
}

/**
 * Adds the commit of a record to a batch: a file with the id and a sorted line for each commit. Its parents are the records
 * that it merges, and no commit of a thread, so that the old commits can be collected.
 */
export function addRecord(batch: ObjectBatch, record: RedactionRecord, parents: readonly ObjectId[]): ObjectId {
  const lines = [...record.commits].map(([before, after]) => `${before} ${after}\n`).toSorted();
  const blob = batch.addBlob(`${record.thread}\n${lines.join('')}`);
  const tree = batch.addTree([{ mode: '100644', name: FILE, id: blob }]);
  return batch.addOwnCommit({ tree, parents: [...parents].toSorted(), message: 'redacted\n' }, 0);
}

/**
 * Reads a record.
 * @throws {UwfError} `invalid-redaction-record` if it is not as {@link addRecord} writes one
 */
export async function readRecord(
  objects: ObjectReader & { format: ObjectFormat },
  id: ObjectId,
): Promise<RedactionRecord> {
  const { tree, parents } = await readCommit(objects, id);
  const [file] = await readTree(objects, tree);
  if (file?.name !== FILE) throw invalidRecord(id, `it has no file '${FILE}'`);
  const text = Buffer.from(await readBlob(objects, file.id, { maxBytes: MAX_BYTES })).toString('utf8');
  const [thread = '', ...lines] = text.split('\n');
  if (!isThreadId(thread)) throw invalidRecord(id, 'it names no thread');
  const commits = new Map<ObjectId, ObjectId>();
  for (const line of lines.slice(0, -1)) {
    const [before = '', after = '', ...rest] = line.split(' ');
    if (!isObjectId(before) || !isObjectId(after) || rest.length > 0)
      throw invalidRecord(id, 'a line is no pair of commits');
    commits.set(before, after);
  }
  const record = { thread, commits };
  if (addRecord(new ObjectBatch(objects.format), record, parents) !== id)
    throw invalidRecord(id, 'uwf writes it otherwise');
  return record;
}

/** Merges two records. The successors in the earlier one may have successors in the later one. */
export function joinRecords(earlier: RedactionRecord, later: RedactionRecord): RedactionRecord {
  const commits = new Map<ObjectId, ObjectId>();
  for (const [before, after] of earlier.commits) commits.set(before, later.commits.get(after) ?? after);
  for (const [before, after] of later.commits) commits.set(before, after);
  return { thread: later.thread, commits };
}
