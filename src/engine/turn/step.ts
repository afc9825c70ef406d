import type { Agent, AgentRequest, Usage } from '../../agent/contract.ts';
import type { Redacted, UsageByRole } from '../../schema/built-in/schema-parts.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import type { OutsideChanges } from '../../git/format/paths.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { JsonObject } from '../../json.ts';
import type { Decision, DecisionContext } from '../../moderator/decide.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import type { MergeRecord } from '../../schema/built-in/thread-step.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import type { AttemptDraft } from '../../thread/draft-commit.ts';
import type { TraceDraft } from '../../thread/step-trace.ts';
import type { StepEntry, ThreadState, ThreadStatus } from '../../thread/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Isolation, RoleDefinition, WorkflowDefinition } from '../../workflow/definition.ts';
import type { ChildEnd, TurnCalls } from '../children/turn-calls.ts';
import type { EngineContext, Reading } from '../engine-context.ts';
import type { ThreadOver } from '../events.ts';
import type { Lease } from '../leases/lease.ts';
import type { Allowance, TurnClock, UsageWatch } from '../limits/limits.ts';
import type { Redaction } from '../redact/redaction.ts';

// The values of one step. The first three are one value that grows: each stage of `takeStep` adds to it what it finds out.

/** A thread that is about to make a step, and what its rules decide from. */
export type Step<Engine extends Reading = EngineContext> = {
  engine: Engine;
  /** The thread as the step finds it. For a step that is done again: as it was before that step. */
  state: ThreadState;
  definition: WorkflowDefinition;
  decisions: DecisionContext;
};

/** Decided: a step whose role is chosen. */
export type ChosenStep = Step & { lease: Lease; choice: RoleChoice };

/** Prepared: a step whose turn can be taken. */
export type PreparedTurn = ChosenStep & {
  role: RoleDefinition;
  /** How its turn is kept apart. */
  isolation: Isolation;
  /** What the step records of the agent. */
  record: AgentRecord;
  allowance: Allowance;
  /** Why the role may not run now. */
  limitReached: string | undefined;
  request: Pick<AgentRequest, 'role' | 'prompt' | 'cwd' | 'visit'>;
  /** What is stored as the prompt: of a person's turn the question, else all that the agent is told. */
  recorded: string;
  /** The child threads that the turn calls. */
  calls: TurnCalls;
  /**
   * Takes secrets out of the prompt and of what the agent says. If its `failure` is set after the turn, the turn may hold
   * secrets.
   */
  redaction: Redaction;
};

/** The same for a role, whose agent can be run. A block has none. */
export type PreparedStep = PreparedTurn & {
  agent: Agent;
  /** What every try of the turn is asked. */
  request: Omit<AgentRequest, 'attempt' | 'signal' | 'emit' | 'stepDir'>;
  clock: TurnClock;
  /** Looks at what the agent reports of its usage; `undefined` where the turn is not run. */
  watch: UsageWatch | undefined;
};

/** The role that takes the turn. `rule` is null where a person forced the role. */
export type RoleChoice = Omit<Extract<Decision, { kind: 'role' }>, 'rule'> & {
  rule: number | null;
  /** The agent of this machine that a person wants for this turn; absent: the one that is configured. */
  agent?: string | undefined;
  /** A person of this machine has just answered what the role asked; an answer that came with the thread is not theirs. */
  isAnswered?: boolean | undefined;
  /** Whether a person wants the turn stored with secrets that may be in it. */
  allowSecrets?: boolean | undefined;
  /** The step that this turn does again, what a person says about it, and the id under which it calls and waits. */
  again?: { step: StepEntry; word: string; as: ThreadId };
};

/** A decision that gives no role the turn: the thread ends, or waits because a rule is undecided. */
export type Ending = Exclude<Decision, { kind: 'role' }>;

/** What a turn comes to: a reply that was accepted, or the reason why the thread waits. */
export type TurnEnd =
  | {
      kind: 'done';
      meta: JsonObject;
      text: string;
      agentVersion: string | undefined;
      stopReason: string | undefined;
      /** The ends of the child threads that belong to the turn. */
      childThreads: readonly ChildEnd[];
      /** What the children have used that the turn left, by the roles that called them. */
      leftUsage?: UsageByRole | undefined;
    }
  | { kind: 'suspended'; cause: SuspendCause; reason: string; text: string | undefined; due?: number | undefined };

/** The end of a turn, and what all its tries have used and said. */
export type TurnResult = TurnEnd & {
  /** The replies that were not accepted. */
  attempts: readonly AttemptDraft[];
  usage: Usage | null;
  session: string | undefined;
  /** How the agent came to its reply; `undefined` where it did not tell. */
  trace: TraceDraft | undefined;
};

/** What the end of a turn has that no agent was run for. */
export const UNRUN: Pick<TurnResult, 'attempts' | 'usage' | 'session' | 'trace'> = {
  attempts: [],
  usage: null,
  session: undefined,
  trace: undefined,
};

/** A turn that was taken, and of a block that merges the files of its branches. */
export type TakenTurn = {
  result: TurnResult;
  /** When the last reply arrived; absent for a block. */
  completedAtMs?: number;
  merged?: { merge: MergeRecord; snapshot: Snapshot } | undefined;
};

/** A turn that was taken and is not stored yet. The file of a pending turn has it as JSON. */
export type FinishedTurn = {
  role: string;
  /** The rule that chose the role; null where a person forced it. */
  rule: number | null;
  prompt: string;
  agent: AgentRecord;
  result: TurnResult;
  /** What was taken out of its texts; absent where nothing was. */
  redacted?: Redacted | undefined;
  startedAtMs: number;
  completedAtMs: number;
  /** The step that it takes the place of, and what a person said about that. */
  again?: RoleChoice['again'];
  /** What it changed outside of the thread's work tree. */
  isolation?: OutsideChanges | undefined;
  /** What its files were merged from, if it is the turn of a block that merges. */
  merge?: MergeRecord | undefined;
  /** The files that it left; released when they are stored. */
  workspace?: Snapshot | undefined;
  /** Whether this is the suspension that stands for a turn that this machine holds. */
  isHeld?: boolean;
};

/** What a person wants of a thread's next turn. */
export type TurnWish = {
  /** Run this role, whatever the moderator would say. */
  role?: string | undefined;
  /** Let this agent of this machine do it, whatever is configured. */
  agent?: string | undefined;
  /** The person who starts this turn has just answered what the last one asked. */
  isAnswered?: boolean;
  /** Store it although there may be secrets in it, or in the files that it left. */
  allowSecrets?: boolean | undefined;
};

/** What one step came to. */
export type StepOutcome = {
  thread: ThreadId;
  status: ThreadStatus;
  /** The role that ran; null when nothing ran. */
  role: string | null;
  /** The new step; null when none was stored. */
  step: NodeHash | null;
  head: ObjectId;
  /** The role that is next; null when the thread waits or is over. */
  nextRole: string | null;
  /** null unless the thread is over or waits. */
  over: ThreadOver | null;
};
