import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectFormat, ObjectId } from '../../git/format/object-id.ts';

const author = { name: 'uwf', email: 'uwf@localhost', atMs: 0 };

/**
 * The commit of every removal mark. It has no files, no parents and no time, so it is the same on every machine and tells
 * nothing about the thread.
 */
export function makeRemovalMark(format: ObjectFormat): { id: ObjectId; batch: ObjectBatch } {
  const batch = new ObjectBatch(format);
  const commit = { tree: batch.addTree([]), parents: [], author, committer: author, message: 'removed\n' };
  return { id: batch.addCommit(commit), batch };
}
