import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectFormat, ObjectId } from '../../git/format/object-id.ts';

/**
 * The commit of every removal mark. It has no files, no parents and no time, so it is the same on every machine and tells
 * nothing about the thread.
 */
export function makeRemovalMark(format: ObjectFormat): { id: ObjectId; batch: ObjectBatch } {
  const batch = new ObjectBatch(format);
  return { id: batch.addOwnCommit({ tree: batch.addTree([]), parents: [], message: 'removed\n' }, 0), batch };
}
