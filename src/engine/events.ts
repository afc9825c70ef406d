import type { NodeHash } from '../cas/hash.ts';
import type { MissingFiles, WorkTreeChanges } from '../git/format/paths.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Usage } from '../agent/contract.ts';
import type { JsonValue } from '../json.ts';
import type { CountedLimit } from '../schema/built-in/schema-parts.ts';
import type { SuspendCause, ThreadCall } from '../schema/built-in/thread-start.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ThreadStatus } from '../thread/thread-state.ts';

/** Which branch of its caller's workflow a thread is. */
export type BranchName = { block: string; key: string };

/** The branch that a call runs; `undefined` for a call of an agent. */
export function branchOf(call: ThreadCall | undefined): BranchName | undefined {
  return call?.block === undefined ? undefined : { block: call.block, key: call.key };
}

/** What the engine tells while it works, in the order it happens. Child threads' events come under their own id. */
export type EngineEvent =
  | {
      event: 'thread.started';
      thread: ThreadId;
      workflow: string;
      head: ObjectId;
      parent: ThreadId | null;
      /** Absent for a thread that is no branch. */
      branch?: BranchName;
    }
  /** A branch goes on that an earlier run, or an earlier turn of its block, began. */
  | { event: 'branch.continued'; thread: ThreadId; parent: ThreadId; branch: BranchName }
  /** `maxParallelThreads` work already; this thread goes on when one of them is done or waits for a child. */
  | { event: 'thread.waiting'; thread: ThreadId; limit: number; holders: readonly SlotHolder[] }
  /** Agents of separate runs, those of `others` too, work in one work tree. Told once in a run. */
  | { event: 'work-tree.shared'; thread: ThreadId; workTree: string; others: readonly SlotHolder[] }
  /** What was said in the first `steps` steps was summed up; `agent` is null where a person did that. */
  | { event: 'thread.compacted'; thread: ThreadId; steps: number; characters: number; agent: string | null }
  /** A thread was not summed up, although it is long enough; its agents are told as much as there is room for. */
  | { event: 'thread.not-compacted'; thread: ThreadId; characters: number; reason: string }
  /**
   * Limits that cannot be kept, because the agent does not report what they count: before its first turn, if that is known then,
   * or after it. Told once in a run.
   */
  | {
      event: 'limits.unkept';
      thread: ThreadId;
      role: string;
      agent: string;
      limits: readonly CountedLimit[];
      text: string;
      hint: string;
    }
  | { event: 'step.started'; thread: ThreadId; role: string; agent: string; number: number; visit: number }
  | AgentTold
  /** A reply that was not accepted; the agent is asked again if tries are left. */
  | {
      event: 'reply.refused';
      thread: ThreadId;
      role: string;
      attempt: number;
      errors: readonly string[];
      isLast: boolean;
    }
  /** Secrets were taken out of what a role, or a person (`role` is null), has said: how many each rule has found. */
  | { event: 'secrets.redacted'; thread: ThreadId; role: string | null; rules: Readonly<Record<string, number>> }
  /** A turn that an earlier command could not store is stored now; in a fork where the thread has moved on since. */
  | { event: 'reply.stored'; thread: ThreadId; role: string; fork: string | null }
  /**
   * Files that a step left could not be recorded: those that `missing` names, or, without it, all that differ from the
   * commit that was checked out.
   */
  | { event: 'snapshot.shortened'; thread: ThreadId; role: string; reason: string; missing?: MissingFiles }
  /** Ignored files that `.worktreeinclude` names could not be copied into a new work tree of the thread's own. */
  | { event: 'work-tree.incomplete'; thread: ThreadId; missing: MissingFiles }
  /**
   * The main work tree, or another one that the command was given in (`given`), changed during the turn of a role that works in
   * a work tree of the thread's own.
   */
  | { event: 'main.changed'; thread: ThreadId; role: string; main?: WorkTreeChanges; given?: WorkTreeChanges }
  | {
      event: 'step.finished';
      thread: ThreadId;
      role: string;
      /** The step's hash, and its number from 1. */
      step: NodeHash;
      number: number;
      /** `$status` of its meta. */
      outcome: string | null;
      head: ObjectId;
      /** One line of the reply: the first, of a program's output the last that says something. */
      subject: string;
      durationMs: number;
      usage: Usage | null;
    }
  | ChildLeft
  | ThreadOver;

/** A thread goes on without a child that an earlier try of its turn called, because no later try called it. */
export type ChildLeft = { event: 'child.left'; thread: ThreadId; child: ThreadId; status: ThreadStatus };

/** A thread at work, and the process that runs it. */
export type SlotHolder = { thread: string; pid: number; host: string };

/** What an agent reports while it works, as it comes. */
export type AgentTold = { thread: ThreadId; role: string } &
  /** The model is asked; `input` is what it was not told before. */
  (
    | { event: 'agent.turn'; input: string }
    | { event: 'agent.turn-ended'; usage?: Usage }
    | { event: 'agent.text'; text: string }
    | { event: 'agent.thought'; text: string }
    | { event: 'agent.plan'; text: string }
    | { event: 'agent.tool'; id: string; name: string; arguments: JsonValue }
    | { event: 'agent.result'; id: string; result: string; durationMs: number; isError?: boolean }
    /** It was kept from something. */
    | { event: 'agent.refusal'; text: string }
    /** It waits so long before it asks its model again, and why. */
    | { event: 'agent.pause'; text: string; durationMs: number }
    | { event: 'agent.usage'; usage: Usage }
  );

/** The last event of a run. */
export type ThreadOver = {
  event: 'thread.ended' | 'thread.suspended' | 'thread.failed' | 'thread.cancelled';
  thread: ThreadId;
  status: ThreadStatus;
  /** 0 for completed, null while it is suspended. */
  returnCode: number | null;
  head: ObjectId;
  /** The summary of the end, or the reason of the suspension. */
  text: string;
  /** Of a suspension: the role whose turn waits. */
  role?: string;
  /** Of a suspension: what stopped the turn. */
  cause?: SuspendCause;
  /** Of a suspension: its hash. */
  suspension?: NodeHash;
};
