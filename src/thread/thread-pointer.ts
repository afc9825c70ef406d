import type { ObjectId } from '../git/object-id.ts';
import type { RefName } from '../git/ref-store.ts';
import type { ThreadId } from './thread-id.ts';

/** Where a thread is: its id, the ref it was found under, and what that points at. */
export type ThreadPointer = {
  id: ThreadId;
  ref: RefName;
  head: ObjectId;
  isHistory: boolean;
  /**
   * The thread whose ref that is and whose steps lead to the head, for a child thread that has ended and has no ref of its
   * own here.
   */
  keptBy?: ThreadId;
};
