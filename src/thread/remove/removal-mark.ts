import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectFormat, ObjectId } from '../../git/format/object-id.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { ThreadId } from '../thread-id.ts';

/** Removal marks: a ref for each removed thread. A thread with a mark is not pushed, and a fetch does not bring it. */
export const REMOVED_PREFIX = 'refs/uwf/removed/';

/** The ref of a thread's removal mark. */
export function removedRef(thread: ThreadId): RefName {
  return parseRefName(REMOVED_PREFIX + thread);
}

/**
 * The commit of every removal mark. It has no files, no parents and no time, so it is the same on every machine and tells
 * nothing about the thread.
 */
export function makeRemovalMark(format: ObjectFormat): { id: ObjectId; batch: ObjectBatch } {
  const batch = new ObjectBatch(format);
  return { id: batch.addOwnCommit({ tree: batch.addTree([]), parents: [], message: 'removed\n' }, 0), batch };
}
