import type { Html } from '../html.ts';
import type { ThreadStatus } from '../../thread/thread-status.ts';

/** A status as people say it. */
const words: Readonly<Record<ThreadStatus, string>> = {
  idle: 'ready',
  interrupted: 'interrupted',
  running: 'running',
  suspended: 'waits for you',
  ended: 'ended',
  failed: 'failed',
  cancelled: 'cancelled',
  newer: 'needs a newer uwf',
  corrupt: 'damaged',
};

/** The status of a thread, in words and colour. */
export function Status({ status }: { status: ThreadStatus }): Html {
  return <span class={`status status-${status}`}>{words[status]}</span>;
}
