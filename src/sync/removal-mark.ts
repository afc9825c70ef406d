import { ObjectBatch } from '../git/object-batch.ts';
import type { ObjectFormat, ObjectId } from '../git/object-id.ts';

const nobody = { name: 'uwf', email: 'uwf@localhost', atMs: 0 };

/**
 * The commit by which a remote says that a thread was removed: without files, parents or a time, so that it is the same
 * whoever makes it and says nothing but that.
 */
export function makeRemovalMark(format: ObjectFormat): { id: ObjectId; batch: ObjectBatch } {
  const batch = new ObjectBatch(format);
  const commit = { tree: batch.addTree([]), parents: [], author: nobody, committer: nobody, message: 'removed\n' };
  return { id: batch.addCommit(commit), batch };
}
