import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { OutsideChanges } from '../../git/format/paths.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../json.ts';
import {
  anyText,
  builtInObject,
  closedObject,
  count,
  isSet,
  mapOf,
  moreLimits,
  type MoreLimits,
  objectId,
  positive,
  redacted,
  type Redacted,
  ref,
  refList,
  refOrNull,
  ruleOrNull,
  timeMs,
  type Usage,
  usage,
  usageByRole,
  type UsageByRole,
  usageOrNull,
  word,
} from './schema-parts.ts';

/** A commit of a thread, and the number of the newest step up to it. */
type StepPlace = { commit: ObjectId; number: number };

/** What the turns of one role come to. */
export type RoleTotals = {
  /** How many steps it took. */
  visits: number;
  /** The number of its first step; null if it took none. */
  first: number | null;
  /** The number of its newest step; null if it took none. */
  last: number | null;
  /** The usage of its steps and of its turns that ended in a suspension. */
  usage: Usage | null;
  /** The usage of its steps that were replaced by others. */
  replaced: Usage | null;
  /** The usage of the children of its turns, with all that these called. */
  children: Usage | null;
  /** Its suspensions since its last step. */
  waits: number;
};

/**
 * What the commits of a thread up to one of them come to. The node of each commit has that of the commits before it, so that the
 * head tells how a thread stands. Its size depends on how many roles there are, and not on how many steps.
 */
export type Totals = {
  /** The commit of the start. */
  start: ObjectId;
  steps: number;
  /** The usage of all steps and suspended turns, added up in their order. */
  usage: Usage | null;
  /** The usage of all steps that were replaced by others. */
  replaced: Usage | null;
  /** The usage of all children that its steps took in or left, with all that these called. */
  children: Usage | null;
  roles: Record<string, RoleTotals>;
  /** How much people have added to the limits. */
  more: MoreLimits;
  /** The newest step that recorded its files. */
  recorded: ObjectId | null;
  /** The newest step that carries a summary of those before it. */
  compacted: StepPlace | null;
  /** The newest step that took in or left child threads, or took the place of such a step; its own totals name the one before it. */
  calling: ObjectId | null;
  /** The newest resumption after an end; its own totals name the one before it. */
  reopened: StepPlace | null;
  /** The newest steps whose numbers are multiples of 4, 16, 64 and so on, as far as there are any: ways to a step by its number. */
  skips: ObjectId[];
};

/** The distances of the steps that `skips` names. */
export const SKIPS = [4, 16, 64, 256, 1024, 4096, 16_384] as const;

const idOrNull: JsonObject = { ...objectId, type: ['string', 'null'] };
const place: JsonObject = { anyOf: [closedObject({ commit: objectId, number: count }), { type: 'null' }] };
const numberOrNull: JsonObject = { type: ['integer', 'null'], minimum: 1 };

export const totalsSchema: JsonObject = closedObject({
  start: objectId,
  steps: count,
  usage: usageOrNull,
  replaced: usageOrNull,
  children: usageOrNull,
  roles: mapOf(
    closedObject({
      visits: count,
      first: numberOrNull,
      last: numberOrNull,
      usage: usageOrNull,
      replaced: usageOrNull,
      children: usageOrNull,
      waits: count,
    }),
  ),
  more: moreLimits,
  recorded: idOrNull,
  compacted: place,
  calling: idOrNull,
  reopened: place,
  skips: { type: 'array', maxItems: SKIPS.length, items: objectId },
});

/** What the files of a block's step were merged from (`merge` of its node). They are `workspace` of the step. */
export type MergeRecord = {
  /** The commit that all branches began at, and that they were merged into. */
  base: ObjectId;
  /** The newest snapshots of the branches, in the order in which they were merged. */
  branches: { key: string; commit: ObjectId }[];
  /** The version of git: `2.39.5`. */
  git: string;
  /** False if a merge driver of the machine had a part. */
  isRepeatable: boolean;
};

const mergeRecord: JsonObject = closedObject({
  base: objectId,
  branches: { type: 'array', items: closedObject({ key: word, commit: objectId }) },
  git: word,
  isRepeatable: { type: 'boolean' },
});

/** A branch in the meta of a block's step, with its key. */
export type KeyedBranch = JsonObject & { key: string };

/**
 * The branches in the meta of a block's step, each with its key, in the order in which they were taken in: what a rule after the
 * block sees as `$branches`.
 * @returns `undefined` if the meta has not the form that a block's has
 */
export function branchesInMeta(meta: JsonObject | undefined): KeyedBranch[] | undefined {
  const order = meta?.['order'];
  const branches = meta?.['branches'];
  if (!Array.isArray(order) || !isJsonObject(branches)) return undefined;
  const found: KeyedBranch[] = [];
  for (const key of order) {
    const branch = branchOf(branches, key);
    if (branch === undefined || typeof key !== 'string') return undefined;
    found.push({ ...branch, key });
  }
  return found;
}

function branchOf(branches: JsonObject, key: JsonValue): JsonObject | undefined {
  if (typeof key !== 'string' || !Object.hasOwn(branches, key)) return undefined;
  const branch = branches[key];
  return isJsonObject(branch) && 'status' in branch && 'meta' in branch && 'end' in branch ? branch : undefined;
}

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

export type ThreadStep = TurnRecord & {
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
  startedAtMs: number;
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
