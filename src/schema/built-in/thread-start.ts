import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { JsonObject } from '../../json.ts';
import { limitsSchema } from './limits.ts';
import type { Limits } from './limits.ts';
import {
  builtInObject,
  closedObject,
  count,
  isSet,
  mapOf,
  objectId,
  redacted,
  ref,
  refList,
  refOrNull,
  timeMs,
  word,
} from './schema-parts.ts';
import type { Redacted } from './schema-parts.ts';

/** The format that threads are stored in; docs/format.md describes it. */
export const FORMAT = 1;

/** The beginning of a thread. */
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
