import { readNodeAt } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import { pathName } from '../cas/path-name.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readAnyTree } from '../git/stores/read.ts';
import type { JsonObject, JsonValue } from '../json.ts';
import type { AgentRecord } from '../schema/built-in/workflow.ts';
import { branchesInMeta, type KeyedBranch, type MergeRecord } from '../schema/built-in/thread-step.ts';
import type { Usage } from '../schema/built-in/schema-parts.ts';
import { payloadOf } from '../schema/built-in.ts';
import { findRecordedBefore } from './step-files.ts';
import { fileOf, findStepByNumber, type LightStart, type LightStep, readLightCommit } from './thread-chain.ts';
import { readTextAt, readThreadCommit, statusOf } from './thread-commit.ts';
import { CorruptThread } from './thread-errors.ts';
import type { CommitOf, StepEntry, ThreadState } from './thread-state.ts';

/** A step as rules and templates see it; oldest first in `$steps`. */
export type StepView = {
  role: string;
  meta: JsonObject;
  /** The same as `meta`. */
  output: JsonObject;
  text: string;
  hash: string;
  /** `meta.$status`, or null. */
  status: string | null;
  agent: string;
  usage: Usage | null;
  startedAtMs: number;
  completedAtMs: number;
};

export const BLANK_STEP: StepView = {
  role: '',
  meta: {},
  output: {},
  text: '',
  hash: '',
  status: null,
  agent: '',
  usage: null,
  startedAtMs: 0,
  completedAtMs: 0,
};

/**
 * Stand-ins for all steps but the newest, for expressions that only count them: a role has as many as it took steps,
 * whatever their order in the thread.
 */
export function standIns(
  roles: ReadonlyMap<string, { visits: number }>,
  newest: readonly Pick<StepView, 'role'>[],
): StepView[] {
  const found: StepView[] = [];
  for (const [role, { visits }] of roles) {
    const blank = { ...BLANK_STEP, role };
    const count = visits - newest.filter((step) => step.role === role).length;
    for (let place = 0; place < count; place += 1) found.push(blank);
  }
  return found;
}

export async function stepView(
  repository: Repository,
  { start }: Pick<ThreadState, 'start'>,
  step: StepEntry,
): Promise<StepView> {
  return viewOf(step.commit, step.text, await agentName(repository, start, step.commit));
}

/** A step whose text and agent are known, as rules see it. */
export function viewOf({ node, hash }: Pick<CommitOf<'step'>, 'node' | 'hash'>, text: string, agent: string): StepView {
  return {
    role: node.role,
    meta: node.meta,
    output: node.meta,
    text,
    hash,
    status: statusOf(node.meta),
    agent,
    usage: node.usage,
    startedAtMs: node.startedAtMs,
    completedAtMs: node.completedAtMs,
  };
}

type Start = LightStart | CommitOf<'start'>;
type Turn = LightStep | CommitOf<'step' | 'suspend'>;

/** Names by the start, or by its tree of agents, which most threads share, with the hash that the start has of the agent. */
const known = new WeakMap<Repository, Map<string, Promise<string | undefined>>>();
const MAX_KNOWN = 10_000;

/** The name in the configuration of the agent that took a turn; '' if it is not recorded. */
export async function agentName(repository: Repository, start: Start, turn: Turn): Promise<string> {
  return (await ownAgent(repository, turn))?.name ?? (await agentAtStart(repository, start, turn.node.role)) ?? '';
}

/** The agent that took a turn; `undefined` if it is not recorded. */
export async function readAgent(repository: Repository, start: Start, turn: Turn): Promise<AgentRecord | undefined> {
  return (await ownAgent(repository, turn)) ?? (await startAgent(repository, start, turn.node.role));
}

/** The agent of a turn by the turn's own commit, which has it where it differs from the start's. */
async function ownAgent(repository: Repository, turn: Turn): Promise<AgentRecord | undefined> {
  const oid = fileOf(turn, 'agent.json');
  return oid && payloadOf(await readNodeAt(repository, { hash: turn.node.agent, oid }), 'agent');
}

/**
 * The name of the agent that a role had when its thread began; `undefined` if it had none.
 * @param start the start, or the id of its commit
 */
export function agentAtStart(
  repository: Repository,
  start: Start | ObjectId,
  role: string,
): Promise<string | undefined> {
  const names = known.get(repository) ?? new Map<string, Promise<string | undefined>>();
  known.set(repository, names);
  const place = typeof start === 'string' ? start : `${agentsOf(start) ?? start.id} ${hashAt(start, role) ?? ''}`;
  const key = `${place} ${role}`;
  const found = names.get(key);
  if (found !== undefined) return found;
  if (names.size >= MAX_KNOWN) names.clear();
  const name = readName(repository, start, role);
  names.set(key, name);
  // It may be readable later: a fetch can bring what is missing.
  name.catch(() => names.delete(key));
  return name;
}

async function readName(repository: Repository, start: Start | ObjectId, role: string): Promise<string | undefined> {
  if (typeof start === 'string') {
    const commit = await readLightCommit(repository, start);
    if (commit.kind !== 'start') throw new CorruptThread(start, 'it is no start');
    return agentAtStart(repository, commit, role);
  }
  return (await startAgent(repository, start, role))?.name;
}

async function startAgent(repository: Repository, start: Start, role: string): Promise<AgentRecord | undefined> {
  const hash = hashAt(start, role);
  if (hash === undefined) return undefined;
  const file = `${pathName(role)}.json`;
  const folder = agentsOf(start);
  const oid =
    folder === undefined
      ? fileOf(start, `agents/${file}`)
      : (await readAnyTree(repository.objects, folder)).find(({ name }) => name === file)?.id;
  return oid && payloadOf(await readNodeAt(repository, { hash, oid }), 'agent');
}

function hashAt({ node }: Start, role: string): NodeHash | undefined {
  return Object.hasOwn(node.agents, role) ? node.agents[role] : undefined;
}

/** The tree of the agents of a start; `undefined` for one that has its index instead. */
function agentsOf(start: Start): ObjectId | undefined {
  return 'files' in start ? fileOf(start, 'agents') : undefined;
}

/** How a branch has ended, as joins, rules and templates see it. */
export type BranchEnd = {
  /** The `$status` of its last step; null if that has none. */
  status: string | null;
  /** The meta of its last step; null if it had no step, or if the meta is larger than a block's step has room for. */
  meta: JsonObject | null;
  end: { outcome: 'completed' | 'failed' | 'cancelled'; returnCode: number; summary: string };
};

/** A node has at most 16 MiB and 500,000 values. The metas of all branches together get this part of it, in equal shares. */
const MAX_BYTES = 12 * 1024 * 1024;
const MAX_LINES = 400_000;
/** The indentation of a branch's meta in the JSON of the block's step. */
const INDENTATION = 10;
/** The summary of a branch is cut to this many UTF-16 units. */
const MAX_SUMMARY = 1000;

/**
 * Reads how a branch ended, as the step of its block records it.
 * @param id the commit of its end
 * @param total the number of branches that the block has
 */
export async function readBranchEnd(repository: Repository, id: ObjectId, total: number): Promise<BranchEnd> {
  const end = await readThreadCommit(repository, id);
  if (end.kind !== 'end') throw new CorruptThread(id, 'the branch of a block has no end');
  const { outcome, returnCode } = end.node;
  // If the cut splits a surrogate pair, its first half is left out.
  const summary = (await readTextAt(repository, end, 'summary.md'))
    .slice(0, MAX_SUMMARY)
    .replace(/[\uD800-\uDBFF]$/, '');
  const last = await findStepByNumber(repository, id, end.node.totals.steps);
  const meta = last?.node.meta ?? null;
  return {
    status: last ? statusOf(last.node.meta) : null,
    meta: hasRoom(meta, total) ? meta : null,
    end: { outcome, returnCode, summary },
  };
}

function hasRoom(meta: JsonObject | null, total: number): boolean {
  const json = JSON.stringify(meta, null, 2);
  const lines = json.split('\n').length;
  return lines <= MAX_LINES / total && Buffer.byteLength(json) + lines * INDENTATION <= MAX_BYTES / total;
}

/**
 * Finds what the merge of a block merges: the newest snapshots of the branches that have completed, in the order of the merge.
 * Leaves out a branch of which no step recorded files, as none of its turns was isolated.
 * @param completed in the order in which they ended
 */
export async function findFilesToMerge(
  repository: Repository,
  order: 'key' | 'end' | undefined,
  completed: readonly { key: string; end: ObjectId }[],
): Promise<MergeRecord['branches']> {
  const branches: MergeRecord['branches'] = [];
  for (const { key, end } of completed) {
    const step = await findRecordedBefore(repository, await readThreadCommit(repository, end));
    if (step?.node.workspace) branches.push({ key, commit: step.node.workspace.commit });
  }
  return order === 'key' ? branches.toSorted((a, b) => (a.key < b.key ? -1 : 1)) : branches;
}

/** The number of branches whose statuses a person sees, and whose metas an agent gets. */
const MAX_READ = 50;

/**
 * The meta of a step for a person. The meta of a block's step, which has the metas of all branches, is reduced to the keys and
 * statuses of the first branches. Any other meta is returned unchanged.
 */
export function readableMeta(meta: JsonObject): JsonObject {
  return withBranches(meta, ({ key, status }) => `${key}: ${typeof status === 'string' ? status : 'no status'}`);
}

/** The meta of a step for an agent: for a block's step, only those of the first branches. The step's text has all ends. */
export function toldMeta(meta: JsonObject): JsonObject {
  return withBranches(meta, ({ key, meta: own = null }) => ({ key, meta: own }));
}

function withBranches(meta: JsonObject, read: (branch: KeyedBranch) => JsonValue): JsonObject {
  const branches = branchesInMeta(meta);
  if (branches === undefined) return meta;
  const { order: _order, branches: _branches, ...rest } = meta;
  const left = branches.length - MAX_READ;
  const more = left > 0 ? [`… and ${left} more`] : [];
  return { ...rest, branches: [...branches.slice(0, MAX_READ).map(read), ...more] };
}
