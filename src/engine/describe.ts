import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadStatus } from '../thread/thread-status.ts';

/** A thread in a list. */
export type ThreadSummary = {
  thread: ThreadId;
  status: ThreadStatus;
  /** The workflow's name. */
  workflow: string;
  /** The beginning of the user's prompt, one line. */
  prompt: string;
  /** ISO 8601, UTC. */
  startedAt: string;
  endedAt: string | null;
  head: ObjectId;
  steps: number;
  /** Who is next, where that was decided; null for a thread that is over. */
  nextRole: string | null;
};

/** A thread by itself. */
export type ThreadView = ThreadSummary & {
  /** The definition it runs. */
  workflowHash: NodeHash;
  parent: ThreadId | null;
  children: ThreadId[];
  depth: number;
  /** Why it is suspended, or how it ended. */
  reason: string | null;
  returnCode: number | null;
  /** Who works on it. */
  holder: { pid: number; host: string; since: string } | null;
};

export type ListOptions = {
  /** Which statuses; default: all that are not over. */
  statuses?: readonly ThreadStatus[];
  /** All, whatever their status. */
  all?: boolean;
  workflow?: string;
  sinceMs?: number;
  untilMs?: number;
  limit?: number;
  /** Only threads that sort after this id in the list's order (newest first). */
  cursor?: ThreadId;
};
