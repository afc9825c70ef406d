import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { JsonObject } from '../../json.ts';
import {
  anyText,
  builtInObject,
  closedObject,
  count,
  isSet,
  type Limits,
  limitsSchema,
  mapOf,
  moreLimits,
  type MoreLimits,
  objectId,
  redacted,
  type Redacted,
  ref,
  refList,
  refOrNull,
  ruleOrNull,
  timeMs,
  usageByRole,
  type UsageByRole,
  usageOrNull,
  word,
} from './schema-parts.ts';
import { type Totals, totalsSchema, type TurnRecord } from './thread-step.ts';

/** The format that threads are stored in; docs/format.md describes it. */
export const FORMAT = 1;

export type ThreadStart = {
  format: typeof FORMAT;
  /** The ULID the thread was born with; its forks keep it, so that they decide alike. */
  id: string;
  /** The {@link Workflow} it runs, pinned. */
  workflow: NodeHash;
  /** Present if the definition is a script. Not written yet. */
  script?: true;
  /** The task, a {@link Content}. */
  prompt: NodeHash;
  /** Each role and the {@link AgentRecord} it was bound to at the start. A record only. */
  agents: Record<string, NodeHash>;
  /** 0 for a thread a person started, one more for each call on the way here. */
  depth: number;
  /** Limits given for this run. */
  limits?: Limits;
  /** The {@link ThreadStart} of the caller; null for a thread without one. */
  parentThread: NodeHash | null;
  /** The caller's last step or start at the moment of the call; null for a thread without a caller. */
  parentState: NodeHash | null;
  /** The role of the caller that called; null for a thread without a caller. */
  parentRole: string | null;
  /** Which call of the caller this thread is; absent where there is no caller. */
  call?: ThreadCall;
  /** The commit of the code that the thread's own work tree was made from. */
  base?: ObjectId;
  redacted?: Redacted;
  /** In ms since 1970. */
  startedAtMs: number;
};

/** What tells the calls of one turn apart. */
export type ThreadCall = {
  /**
   * The id under which the caller ran: that of its ref, which a fork does not share, or the one under which its step was
   * done again.
   */
  thread: string;
  /** The caller's own key, else one made of the workflow and the prompt. */
  key: string;
  /** The block of the caller's workflow that the call belongs to. */
  block?: string;
  /** The place among calls with the same key, from 0; absent where the key is the caller's own. */
  ordinal?: number;
  /** The answers that a script had been given before it called. Not written yet. */
  given?: NodeHash[];
  /** The {@link ThreadEnd} of an earlier call, whose answer stands for this one. Not written yet. */
  reuses?: NodeHash;
};

const threadId: JsonObject = { type: 'string', pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' };

export const threadStartSchema: JsonObject = builtInObject(
  'thread-start',
  'The beginning of a thread: the workflow, the task, and the caller if there is one.',
  {
    format: { const: FORMAT },
    id: threadId,
    workflow: ref('workflow'),
    script: isSet,
    prompt: ref('content'),
    agents: mapOf(ref('agent')),
    depth: count,
    limits: limitsSchema,
    parentThread: refOrNull('thread-start'),
    parentState: refOrNull('thread-step', 'thread-start'),
    parentRole: { type: ['string', 'null'], minLength: 1 },
    call: closedObject(
      { thread: threadId, key: word, block: word, ordinal: count, given: refList(), reuses: ref('thread-end') },
      ['block', 'ordinal', 'given', 'reuses'],
    ),
    base: objectId,
    redacted,
    startedAtMs: timeMs,
  },
  ['script', 'limits', 'call', 'base', 'redacted'],
);

/** Why a turn was stopped. */
export const suspendCauses = [
  'agent',
  'invalid-reply',
  'limit',
  'timeout',
  'human',
  'child',
  'permission',
  'secret',
  'isolation',
  'rule',
  'interrupted',
  'usage-limit',
  'time-box',
] as const;

export type SuspendCause = (typeof suspendCauses)[number];

/** A turn that waits for a person. No step: it is not counted and nothing is decided from it. */
export type ThreadSuspend = TurnRecord & {
  totals: Totals;
  /** Why, for the person who is to answer. */
  reason: string;
  cause: SuspendCause;
  /** What the agent said before it stopped, a {@link Content}. */
  content: NodeHash | null;
  /** When it makes sense to go on, in ms since 1970; absent where that does not depend on the time. */
  due?: number;
  suspendedAtMs: number;
};

export const threadSuspendSchema: JsonObject = builtInObject(
  'thread-suspend',
  'A turn that waits for a person, and why.',
  {
    totals: totalsSchema,
    role: word,
    reason: anyText,
    cause: { enum: [...suspendCauses] },
    start: ref('thread-start'),
    previous: refOrNull('thread-step'),
    content: refOrNull('content'),
    react: refOrNull('react-session'),
    attempts: refList('attempt'),
    agent: ref('agent'),
    agentVersion: anyText,
    prompt: ref('content'),
    rule: ruleOrNull,
    usage: usageOrNull,
    due: timeMs,
    redacted,
    suspendedAtMs: timeMs,
  },
  ['agentVersion', 'due', 'redacted'],
);

/** A person's word that a suspended turn may go on, or that an ended thread is taken up again. */
export type ThreadResume = {
  totals: Totals;
  /** The {@link ThreadSuspend} that is answered, or the {@link ThreadEnd} that is gone on from. */
  suspension: NodeHash;
  /** What the person said, a {@link Content}; null for a mere go-ahead. */
  answer: NodeHash | null;
  /** The {@link ThreadStart}. */
  start: NodeHash;
  /** How much more than its limits the thread may use from here on, by the name of the limit. */
  more?: MoreLimits;
  /** Who resumed the thread, as `name <email>` or the name of a program. */
  by?: string;
  redacted?: Redacted;
  resumedAtMs: number;
};

export const threadResumeSchema: JsonObject = builtInObject(
  'thread-resume',
  "A person's word that a suspended turn may go on, or that an ended thread is taken up again.",
  {
    totals: totalsSchema,
    suspension: ref('thread-suspend', 'thread-end'),
    answer: refOrNull('content'),
    start: ref('thread-start'),
    more: { ...moreLimits, minProperties: 1 },
    by: word,
    redacted,
    resumedAtMs: timeMs,
  },
  ['more', 'by', 'redacted'],
);

/** How a thread ended: by a rule, because it could not go on, or by a person. */
export type Outcome = 'completed' | 'failed' | 'cancelled';

export type ThreadEnd = {
  totals: Totals;
  outcome: Outcome;
  /** 0 completed, 1 failed, 130 cancelled, or what the rule that ended the thread says; at most 255. */
  returnCode: number;
  /** What came of it, a {@link Content}. */
  summary: NodeHash;
  /** The {@link ThreadStart}. */
  start: NodeHash;
  /** The last {@link ThreadStep}; null if there was none. */
  lastStep: NodeHash | null;
  /** What the children of the turn have used that it cut off, by the roles that called them, of those that told any; absent if there are none. */
  leftUsage?: UsageByRole;
  completedAtMs: number;
};

export const threadEndSchema: JsonObject = builtInObject(
  'thread-end',
  'The end of a thread, and what came of it.',
  {
    totals: totalsSchema,
    outcome: { enum: ['completed', 'failed', 'cancelled'] },
    returnCode: { type: 'integer', minimum: 0, maximum: 255 },
    summary: ref('content'),
    start: ref('thread-start'),
    lastStep: refOrNull('thread-step'),
    leftUsage: usageByRole,
    completedAtMs: timeMs,
  },
  ['leftUsage'],
);
