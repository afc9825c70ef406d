import type { ObjectId } from '../git/object-id.ts';
import { parseRefName } from '../git/ref-name.ts';
import type { RefName } from '../git/ref-store.ts';
import { REDACTED_PREFIX } from '../thread/redaction-record.ts';
import { isThreadId, type ThreadId } from '../thread/thread-id.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { whyNoWorkflowName } from '../workflow/check/check-names.ts';
import { WORKFLOWS_PREFIX } from '../workflow/workflow-refs.ts';

/** Where a remote says of threads that they were removed, a ref for each. */
export const REMOVED_PREFIX = 'refs/uwf/removed/';

/** What of a remote is looked at; everything else there is none of uwf's business. */
export const SHARED_PATTERNS: readonly string[] = [
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  WORKFLOWS_PREFIX,
  REMOVED_PREFIX,
  REDACTED_PREFIX,
].map((prefix) => `${prefix}*`);

/** A ref that repositories share, taken apart; `date` is the UTC day in the name of an ended thread's ref. */
export type SharedRef =
  | { kind: 'thread'; thread: ThreadId; date: string | undefined }
  | { kind: 'workflow'; workflow: string }
  | { kind: 'removed'; thread: ThreadId }
  | { kind: 'redacted'; thread: ThreadId };

/** A commit that a ref of a thread leads to; `endedOn` is the UTC day in the name of the ref, if that is a history ref. */
export type Tip = { id: ObjectId; endedOn: string | undefined };

const day = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

/**
 * Takes the name of a ref apart, which may come from anybody.
 * @returns why it is none that repositories share, as a sentence without its subject, if it is not
 */
export function parseSharedRef(name: string): SharedRef | string {
  if (name.startsWith(ACTIVE_PREFIX)) {
    const thread = name.slice(ACTIVE_PREFIX.length);
    return isThreadId(thread) ? { kind: 'thread', thread, date: undefined } : 'its name is no thread id';
  }
  if (name.startsWith(HISTORY_PREFIX)) {
    const [date = '', thread = '', ...rest] = name.slice(HISTORY_PREFIX.length).split('/');
    if (!day.test(date) || rest.length > 0) return 'its name is not a day and a thread id';
    return isThreadId(thread) ? { kind: 'thread', thread, date } : 'its name is not a day and a thread id';
  }
  if (name.startsWith(REMOVED_PREFIX)) {
    const thread = name.slice(REMOVED_PREFIX.length);
    return isThreadId(thread) ? { kind: 'removed', thread } : 'its name is no thread id';
  }
  if (name.startsWith(REDACTED_PREFIX)) {
    const thread = name.slice(REDACTED_PREFIX.length);
    return isThreadId(thread) ? { kind: 'redacted', thread } : 'its name is no thread id';
  }
  if (!name.startsWith(WORKFLOWS_PREFIX)) return 'it is no ref of a thread or a workflow';
  const workflow = name.slice(WORKFLOWS_PREFIX.length);
  return whyNoWorkflowName(workflow) === undefined
    ? { kind: 'workflow', workflow }
    : 'its name is no name of a workflow';
}

/** The ref under which a thread has a tip; the same in every repository. */
export function refOfTip(thread: ThreadId, { endedOn }: Tip): RefName {
  return parseRefName(endedOn === undefined ? ACTIVE_PREFIX + thread : `${HISTORY_PREFIX}${endedOn}/${thread}`);
}

/** The ref by which a remote says that a thread was removed. */
export function removedRef(thread: ThreadId): RefName {
  return parseRefName(REMOVED_PREFIX + thread);
}
