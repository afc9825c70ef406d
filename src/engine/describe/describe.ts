import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { MergeConflict } from '../../git/worktree/merge-trees.ts';
import { setMember } from '../../json.ts';
import type { TakenBranch } from '../../moderator/branches.ts';
import { isOfClass, orElse } from '../../or-else.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { SuspensionOutline } from '../../thread/exchange.ts';
import { findThread, getThread } from '../../thread/find-thread.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import {
  asksForWords,
  type CommitOf,
  hintToResume,
  statusOfHead,
  type Tally,
  type ThreadState,
  type ThreadStatus,
} from '../../thread/thread-state.ts';
import { iso } from '../../time/clock.ts';
import { findVerdict, listCorrupt } from '../../verify/remembered-verdicts.ts';
import type { Deciding, Reading } from '../engine-context.ts';
import { LeaseDamaged } from '../engine-errors.ts';
import { type BranchName, branchOf } from '../events.ts';
import { findLease, statusHere } from '../leases/find-lease.ts';
import { findKeptReply } from '../recovery/pending-turn.ts';
import { openUsage } from '../recovery/turn-log.ts';
import { withWhatIsHere } from './list-threads.ts';
import type { ThreadSummary } from './read-listed.ts';

/** A thread by itself. */
export type ThreadView = ThreadSummary & {
  head: ObjectId;
  /** The definition it runs. */
  workflowHash: NodeHash;
  /** The thread that called it; null for one that a person started. */
  parent: ThreadId | null;
  /** Which branch of the caller's workflow it is; null for a thread that is none. */
  branch: BranchName | null;
  /** Where the caller stood then: its last step, or its start. */
  parentState: NodeHash | null;
  children: ThreadId[];
  /** What the children came to. */
  calls: ChildView[];
  /** How many threads are above it. */
  depth: number;
  /** Of a thread that waits for a child: what the child waits for; of one that waits for several branches: what each waits for. */
  reason: string | null;
  /** What the turn came to that waits; null for a thread that is not suspended. */
  suspension: SuspensionOutline | null;
  /**
   * The thread whose question it is, where that is a child of it or one below; the first where several branches ask. Resuming
   * this thread answers it if no other branch asks.
   */
  waitsFor: ThreadId | null;
  returnCode: number | null;
  /** The person who cancelled it, as `name <email>`; null for a thread that was not cancelled. */
  cancelledBy: string | null;
  /** The file of a finished turn that could not be stored, and that the next run stores; null where there is none. */
  kept: string | null;
  /** The process that works on it. */
  holder: { pid: number; host: string; since: string } | null;
} & ThreadUsage;

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

export async function describeThread(engine: Reading, idOrPrefix: string): Promise<ThreadView> {
  const { repository } = engine;
  const pointer = await getThread(repository, idOrPrefix);
  // Deciding who is next loads much more than listing threads.
  const [{ readState }, { describeOver }, { listedOf }, { personOf }] = await Promise.all([
    import('../../thread/thread-state.ts'),
    import('./gather-facts.ts'),
    import('./read-listed.ts'),
    import('../../thread/thread-commit.ts'),
  ]);
  const state = await readState(repository, pointer.id, pointer.head);
  const { head, start, tally } = state;
  const verdict = findVerdict(repository, pointer, listCorrupt(repository));
  const over = await describeOver(engine, state);
  // The rest is told also where the lease is damaged.
  const lease = orElse(() => findLease(repository, pointer.id), undefined, isOfClass(LeaseDamaged));
  const summary = withWhatIsHere(repository, pointer, await listedOf(engine, state, state));
  const calls = await describeChildren(engine, state);
  const waiting = waitingChildren({ cause: summary.cause, calls });
  const [first] = waiting;
  const below = first === undefined ? undefined : await describeThread(engine, first);
  const branches = waiting.length > 1 ? await questionsOf(engine, waiting) : [];
  return {
    ...summary,
    head: pointer.head,
    workflowHash: start.node.workflow,
    parent: await parentOf(engine, start),
    branch: branchOf(start.node.call) ?? null,
    parentState: start.node.parentState,
    children: calls.map(({ thread }) => thread),
    calls,
    depth: start.node.depth,
    reason: branches.length > 1 ? describeWaiting(branches) : (below?.reason ?? verdict ?? over?.text ?? null),
    waitsFor: below?.waitsFor ?? first ?? null,
    suspension: verdict === undefined && head.kind === 'suspend' ? await outlineOf(repository, head) : null,
    returnCode: over?.returnCode ?? null,
    cancelledBy: verdict === undefined && over?.status === 'cancelled' ? (personOf(head) ?? null) : null,
    kept: findKeptReply(repository, pointer.id) ?? null,
    ...(await withOpenUsage(repository, pointer.id, usageOf(tally))),
    holder: lease ? { pid: lease.holder.pid, host: lease.holder.host, since: iso(lease.sinceMs) } : null,
  };
}

/** The usage of a thread, with that of turns of which no outcome is stored: those that were cut off, or go on. */
async function withOpenUsage(
  repository: Repository,
  thread: ThreadId,
  { usage, usageByRole }: ThreadUsage,
): Promise<ThreadUsage> {
  const open = await openUsage(repository, thread);
  const all: ThreadUsage = { usage, usageByRole: { ...usageByRole } };
  for (const [role, used] of open) {
    all.usage = addUsage(all.usage, used);
    setMember(all.usageByRole, role, addUsage(usageByRole[role] ?? null, used) ?? used);
  }
  return all;
}

/** What the branches among children wait for now: one may have been answered since the caller was suspended. */
async function questionsOf(
  { repository }: Reading,
  waiting: readonly ThreadId[],
): Promise<{ key: string; reason: string }[]> {
  const { readState } = await import('../../thread/thread-state.ts');
  const questions: { key: string; reason: string }[] = [];
  for (const thread of waiting) {
    const { id, head: at } = await getThread(repository, thread);
    const { head, start } = await readState(repository, id, at);
    const branch = branchOf(start.node.call);
    if (branch !== undefined)
      questions.push({ key: branch.key, reason: head.kind === 'suspend' ? head.node.reason : '' });
  }
  return questions;
}

async function outlineOf(repository: Repository, head: CommitOf<'suspend'>): Promise<SuspensionOutline> {
  const { outlineSuspension } = await import('../../thread/exchange.ts');
  return outlineSuspension(repository, head);
}

/** The fork that called a thread, where it is known and still there, else the thread that it was a fork of. */
async function parentOf(engine: Reading, start: CommitOf<'start'>): Promise<ThreadId | null> {
  const { parentAtBirth } = await import('./gather-facts.ts');
  const parent = await parentAtBirth(engine, start);
  const { call } = start.node;
  if (call === undefined || call.thread === parent) return parent;
  return (await findThread(engine.repository, parseThreadId(call.thread)))?.id ?? parent;
}

/** So many branches that wait are named in a hint. */
const MAX_BRANCHES = 5;

/**
 * Says which command lets a suspended thread go on; where a child thread of it waits, by what that waits for. A branch is answered
 * by its own thread, because its caller may wait for several: then each is named with its key.
 */
export async function hintToAnswer(engine: Deciding, view: ThreadView): Promise<string | undefined> {
  if (view.waitsFor === null) return view.suspension === null ? undefined : hintOf(engine, view, view.thread);
  const asking = await describeThread(engine, view.waitsFor);
  if (asking.suspension === null) return undefined;
  const waiting = waitingChildren(view);
  if (waiting.length === 1 || !asksForWords(asking.suspension)) {
    return hintOf(engine, asking, threadToAnswer(view, asking).thread);
  }
  const hints: string[] = [];
  for (const thread of waiting.slice(0, MAX_BRANCHES)) {
    const child = await describeThread(engine, thread);
    const hint = await hintToAnswer(engine, child);
    if (hint !== undefined) hints.push(child.branch === null ? hint : `${hint} (${child.branch.key})`);
  }
  if (waiting.length > MAX_BRANCHES) hints.push(`'uwf thread show ${view.thread}' lists all that wait`);
  return hints.join('; ');
}

/** The command for a thread that asks; at a limit that which raises it, for the caller whose limit it is. */
async function hintOf(
  engine: Deciding,
  { thread, head, suspension }: ThreadView,
  toAnswer: ThreadId,
): Promise<string | undefined> {
  if (suspension?.cause === 'limit') {
    const [{ findLimitWaitedAt }, { hintToRaise }, { readState }] = await Promise.all([
      import('../limits/allowance.ts'),
      import('../limits/limits.ts'),
      import('../../thread/thread-state.ts'),
    ]);
    const reached = await findLimitWaitedAt(engine, await readState(engine.repository, thread, head));
    if (reached !== undefined) return hintToRaise(toAnswer, reached);
  }
  return suspension === null ? undefined : hintToResume(toAnswer, suspension);
}

/** The thread whose resumption answers a question that was asked in a thread, or in one below it. */
export function threadToAnswer(view: ThreadView, asking: ThreadView): ThreadView {
  return asking.branch === null ? view : asking;
}

/** A child thread, as its caller sees it. */
export type ChildView = {
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
  /** True if the caller went on without it: no later try of the turn asked for it again. */
  isLeft: boolean;
};

/**
 * Lists the children of a thread: those whose ends are part of it, in the order of its steps, and then those that are only
 * found by their refs, in the order in which they began.
 */
export async function describeChildren(engine: Reading, state: ThreadState): Promise<ChildView[]> {
  const { repository } = engine;
  const [{ findChildren }, { readThreadCommit }, { stateHash }] = await Promise.all([
    import('../../thread/find-children.ts'),
    import('../../thread/thread-commit.ts'),
    import('../../thread/thread-state.ts'),
  ]);
  const taken = await childrenTaken(engine, state);
  const known = new Set<string>(taken.map(({ thread }) => thread));
  const found = (await findChildren(repository, state)).toSorted(
    (a, b) => a.start.node.startedAtMs - b.start.node.startedAtMs,
  );
  const others: ChildView[] = [];
  for (const { pointer, start } of found) {
    const { parentRole: role, parentState, call } = start.node;
    if (known.has(pointer.id) || role === null || parentState === null || call === undefined) continue;
    const isLeft = state.head.kind === 'end' || parentState !== stateHash(state);
    const head = await readThreadCommit(repository, pointer.head);
    const status = statusHere(repository, pointer.id, statusOfHead(head));
    const end = head.kind === 'end' ? head.hash : null;
    others.push({ thread: pointer.id, status, end, role, key: call.key, parentState, step: null, isLeft });
  }
  return [...taken, ...others];
}

/** The children whose ends are parents of steps. What a child's end does not say, its start does. */
async function childrenTaken({ repository }: Reading, { tally }: ThreadState): Promise<ChildView[]> {
  const { callingSteps, findStart, readChildEnds } = await import('../../thread/thread-chain.ts');
  const children: ChildView[] = [];
  for await (const step of callingSteps(repository, tally)) {
    const ofStep: ChildView[] = [];
    for (const end of await readChildEnds(repository, step)) {
      const start = await findStart(repository, end.id);
      if (start?.node.call === undefined) continue;
      const { id, parentRole, parentState, call } = start.node;
      ofStep.push({
        thread: parseThreadId(id),
        status: statusOfHead(end),
        role: parentRole ?? step.node.role,
        key: call.key,
        parentState: parentState ?? step.node.start,
        end: end.hash,
        step: step.hash,
        isLeft: false,
      });
    }
    children.unshift(...ofStep);
  }
  return children;
}

/** The children that a suspended thread waits for, in the order in which they began. */
export function waitingChildren({
  cause,
  calls,
}: Pick<ThreadSummary, 'cause'> & { calls: readonly ChildView[] }): ThreadId[] {
  if (cause !== 'child') return [];
  return calls.flatMap(({ thread, status, isLeft }) => (status === 'suspended' && !isLeft ? [thread] : []));
}

/** A key that uwf makes for a call ends in a hash, and tells a person nothing. */
const MADE_KEY = / [0-9A-HJKMNP-TV-Z]{13}$/;

/** The key that an agent or a block gave a call; '' for other calls. */
export function ownKey(key: string): string {
  return MADE_KEY.test(key) ? '' : key;
}

/** Whether a child has neither ended nor been cancelled: a person may want to look at it. */
function mayMatter({ status }: ChildView): boolean {
  return status !== 'ended' && status !== 'cancelled';
}

/**
 * Folds a list of children for a person: the first of those that have not simply ended, then others, and how many of the rest have
 * each status, such as `980 ended`.
 */
export function foldChildren(calls: readonly ChildView[], most: number): { shown: readonly ChildView[]; rest: string } {
  if (calls.length <= most) return { shown: calls, rest: '' };
  const inOrder = [...calls.filter(mayMatter), ...calls.filter((child) => !mayMatter(child))];
  const counts = new Map<string, number>();
  for (const { status } of inOrder.slice(most)) counts.set(status, (counts.get(status) ?? 0) + 1);
  return { shown: inOrder.slice(0, most), rest: [...counts].map(([status, count]) => `${count} ${status}`).join(', ') };
}

/** The text of a block's step tells of as many branches; its meta has all. */
const MAX_TOLD = 50;

type BlockOutcome = { taken: readonly TakenBranch[]; total: number; conflicts: readonly MergeConflict[] };

/** What a block waits for: the question of each branch, under its key where there are several. */
export function describeWaiting(waiting: readonly { key: string; reason: string }[]): string {
  const lines = waiting.map(({ key, reason }) => `${key}: ${reason}`).toSorted();
  return lines.length === 1 ? lines.join() : [`${lines.length} branches wait:`, ...lines].join('\n');
}

/** The text of a block's step: what its branches came to, in the order in which they were taken in. */
export function describeBlock(name: string, status: string, { taken, total, conflicts }: BlockOutcome): string {
  const many = total === 1 ? '1 branch' : `${total} branches`;
  const parts = taken.slice(0, MAX_TOLD).map(({ key, status: said, end }) => {
    const how = said ?? end.outcome;
    const result = end.outcome === 'completed' ? how : `${end.outcome} (${end.returnCode})`;
    return [`## ${key}: ${result}`, ...(end.summary === '' ? [] : [end.summary.trim()])].join('\n\n');
  });
  const left = taken.length - parts.length;
  const more = left > 0 ? [`${left} more branches are in the meta of this step.`] : [];
  const lines = conflicts
    .slice(0, MAX_TOLD)
    .map(({ path, message, keys }) => `- ${path} (${keys.join(', ')}): ${message}`);
  const marked = 'The files have the conflicts marked in them. What the next role leaves is the merge.';
  const merge = lines.length === 0 ? [] : ['## Conflicts', marked, lines.join('\n')];
  return [`${name}: ${status}, ${taken.length} of ${many}`, ...parts, ...more, ...merge].join('\n\n');
}
