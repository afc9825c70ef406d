import type { NodeHash } from '../../cas/node-hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import type { Usage } from '../../schema/built-in/schema-parts.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { ThreadStatus } from '../../thread/thread-status.ts';
import type { BranchName } from '../events.ts';
import { setMember } from '../../json.ts';
import type { Tally } from '../../thread/thread-state.ts';

/** A child thread, as its caller's steps tell of it. */
export type TakenInChild = {
  thread: ThreadId;
  status: ThreadStatus;
  /** The role that called it. */
  role: string;
  /** The key of the call. */
  key: string;
  /** Where the caller stood when it called: a step, or its start. */
  parentState: NodeHash;
  /** Its end; null while it is not over. */
  end: NodeHash | null;
  /** The caller's step that took its end in; null where none has. */
  step: NodeHash | null;
};

/**
 * What `show` says of a thread, computed at one head and true of that head for ever. Which threads it called is no fact of a head: they
 * come and go.
 */
export type ThreadFacts = {
  head: ObjectId;
  /** The status that the head alone gives. Whether a process runs the thread is looked up every time. */
  status: ThreadStatus;
  workflow: string;
  workflowHash: NodeHash;
  /** The beginning of the user's prompt, one line. */
  prompt: string;
  startedAtMs: number;
  endedAtMs: number | null;
  steps: number;
  nextRole: string | null;
  depth: number;
  /** The id that the caller was born with. */
  parent: ThreadId | null;
  /** The start node of the thread that called it. */
  parentStart: NodeHash | null;
  /** The id that the caller had, where the call says it: another one if that is a fork. */
  caller: ThreadId | null;
  parentState: NodeHash | null;
  /** Which branch of a block it is; absent for a thread that is none. */
  branch?: BranchName;
  /** The start node, by which child threads name their parent. */
  startHash: NodeHash;
  /** The commit that has it, so that who needs the start alone need not walk there. */
  startCommit: ObjectId;
  /** The last step, or the start: where children are called from. */
  state: NodeHash;
  /** Child threads whose ends are part of this thread. Others are found by their refs, which come and go. */
  children: TakenInChild[];
  reason: string | null;
  /** Where the reason is the output of a program, the last line of it that says something; else null. */
  summary: string | null;
  /** The cause of its suspension. */
  cause: SuspendCause | null;
  returnCode: number | null;
} & ThreadUsage;

/** What a list says of a thread at one head. */
export type ListedFacts = Pick<
  ThreadFacts,
  'status' | 'workflow' | 'startedAtMs' | 'endedAtMs' | 'prompt' | 'steps' | 'nextRole' | 'reason' | 'summary' | 'cause'
>;

/** The usage of a thread and of each of its roles. Turns that ended in a suspension, or were cut off, count. */
export type ThreadUsage = {
  /** null where no agent has told any. */
  usage: Usage | null;
  /** Roles whose agents told none are not there. */
  usageByRole: Record<string, Usage>;
};

/** The usage of a thread and of its roles. Child threads have sums of their own. */
export function usageOf({ usage, roles }: Tally): ThreadUsage {
  const usageByRole: Record<string, Usage> = {};
  const inOrder = [...roles].toSorted(([, a], [, b]) => (a.first ?? Infinity) - (b.first ?? Infinity));
  for (const [role, { usage: ofRole }] of inOrder) if (ofRole !== null) setMember(usageByRole, role, ofRole);
  return { usage, usageByRole };
}
