import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { OutsideChanges } from '../../git/worktree/file-notes.ts';
import type { JsonObject } from '../../json.ts';
import { mergeRecord, type MergeRecord } from './merge-record.ts';
import {
  anyText,
  builtInObject,
  closedObject,
  isSet,
  objectId,
  positive,
  redacted,
  ref,
  refList,
  refOrNull,
  ruleOrNull,
  timeMs,
  word,
  type Redacted,
} from './schema-parts.ts';
import { totalsSchema, type Totals } from './totals.ts';
import { usage, usageByRole, usageOrNull, type Usage, type UsageByRole } from './usage.ts';

/** At most this many steps are named in `ancestors`. */
export const MAX_ANCESTORS = 11;

/** What is recorded of every turn, whether it came to a step or was suspended. */
export type TurnRecord = {
  role: string;
  /** The {@link ThreadStart}. */
  start: NodeHash;
  /** The step before; null if there is none. */
  previous: NodeHash | null;
  /** The {@link ReactSession}; null where the agent leaves no trace. */
  react: NodeHash | null;
  /** The {@link Attempt}s that did not count, oldest first. */
  attempts: NodeHash[];
  /** The {@link AgentRecord} that ran, or was about to. */
  agent: NodeHash;
  /** What the agent calls its own version or model, where it says. */
  agentVersion?: string;
  /** What the agent was told, a {@link Content}. */
  prompt: NodeHash;
  /** The place of the rule that gave the turn to this role; null where a person did. */
  rule: number | null;
  /** All tries together; null where the agent reports nothing. */
  usage: Usage | null;
  redacted?: Redacted;
};

/** One role's turn. */
export type ThreadStep = TurnRecord & {
  /** What the commits before come to. */
  totals: Totals;
  /** From 1, counting steps only. */
  number: number;
  /** What the reply reports, under the schema of its role. */
  meta: JsonObject;
  /** What the reply says, a {@link Content}; its refs are what was put during the turn. */
  content: NodeHash;
  /** The step that this one took the place of, its commit being a further parent; absent where it took none. */
  replaces?: NodeHash;
  /** The steps before, newest first, at most {@link MAX_ANCESTORS}; the first is `previous`. */
  ancestors: NodeHash[];
  /** What stands for all steps before in what agents are told from here on, a {@link Content}; null in most steps. */
  compact: NodeHash | null;
  /** The {@link ThreadEnd}s of threads that were run for this turn. */
  childThreads: NodeHash[];
  /** What those have used, with all that they called; absent where none has told any. */
  childUsage?: Usage;
  /** What the children have used that it left, by the roles that called them, of those that told any; absent if it left none. */
  leftUsage?: UsageByRole;
  /** Why the agent stopped, in its own words, where it says. */
  stopReason?: string;
  /** The work tree as the step left it. */
  workspace?: {
    tree: ObjectId;
    /**
     * The last parent of the step's commit, with that tree: the snapshot. If the files could not be recorded, the commit that was
     * checked out.
     */
    commit: ObjectId;
    /**
     * What the tree does not hold as it was: a tracked file stands there as in the index, another one not at all; and the
     * files with conflicts that are not resolved. The first of them are named, as `pathAsText` writes paths.
     */
    missing?: { count: number; files: { path: string; reason: string }[] };
  };
  /** What changed outside of the thread's work tree during the turn. */
  isolation?: OutsideChanges;
  /** How the files of a block's branches were merged. */
  merge?: MergeRecord;
  /** What the agent did that would have been refused. Not written yet. */
  permissions?: (JsonObject | string)[];
  /** The agent that was meant, where another one took its place. Not written yet. */
  fallback?: string;
  /** In ms since 1970. */
  startedAtMs: number;
  /** In ms since 1970. */
  completedAtMs: number;
};

const missing: JsonObject = closedObject({
  count: positive,
  files: { type: 'array', minItems: 1, maxItems: 100, items: closedObject({ path: word, reason: word }) },
});

const workTreeChanges: JsonObject = closedObject(
  {
    head: { type: 'array', items: anyText, minItems: 2, maxItems: 2 },
    index: isSet,
    files: closedObject({ count: positive, paths: { type: 'array', items: word, maxItems: 100 } }),
  },
  ['head', 'index', 'files'],
);

export const threadStepSchema: JsonObject = builtInObject(
  'thread-step',
  "One role's turn: what it was told, what it replied, and what it cost.",
  {
    totals: totalsSchema,
    number: positive,
    role: word,
    meta: { type: 'object' },
    content: ref('content'),
    react: refOrNull('react-session'),
    start: ref('thread-start'),
    previous: refOrNull('thread-step'),
    replaces: ref('thread-step'),
    ancestors: { ...refList('thread-step'), maxItems: MAX_ANCESTORS },
    compact: refOrNull('content'),
    childThreads: refList('thread-end'),
    childUsage: usage,
    leftUsage: usageByRole,
    agent: ref('agent'),
    agentVersion: anyText,
    stopReason: anyText,
    prompt: ref('content'),
    rule: ruleOrNull,
    attempts: refList('attempt'),
    usage: usageOrNull,
    workspace: closedObject({ tree: objectId, commit: objectId, missing }, ['missing']),
    isolation: closedObject({ main: workTreeChanges, given: workTreeChanges }, ['main', 'given']),
    merge: mergeRecord,
    permissions: { type: 'array', minItems: 1, items: { type: ['object', 'string'] } },
    fallback: word,
    redacted,
    startedAtMs: timeMs,
    completedAtMs: timeMs,
  },
  [
    'replaces',
    'childUsage',
    'leftUsage',
    'agentVersion',
    'stopReason',
    'workspace',
    'isolation',
    'merge',
    'permissions',
    'fallback',
    'redacted',
  ],
);
