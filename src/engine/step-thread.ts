import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadStatus } from '../thread/thread-status.ts';
import type { LeaseOptions } from './context.ts';
import type { ThreadOver } from './events.ts';

export type StepOptions = LeaseOptions & {
  /** Run this role, whatever the moderator would say. */
  role?: string;
};

/** What one step came to. */
export type StepOutcome = {
  thread: ThreadId;
  status: ThreadStatus;
  /** Who ran; null when nothing ran. */
  role: string | null;
  /** The new step; null when none was stored. */
  step: NodeHash | null;
  head: ObjectId;
  /** Who is next; null when the thread waits or is over. */
  nextRole: string | null;
  /** Set when the thread is over or waits. */
  over: ThreadOver | undefined;
};
