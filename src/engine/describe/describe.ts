import { iso } from '../../time/clock.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { asksForWords, type CommitOf, hintToResume, type Tally } from '../../thread/thread-state.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { findThread, getThread } from '../../thread/find-thread.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import type { SuspensionOutline } from '../../thread/exchange.ts';
import { type BranchName, branchOf } from '../events.ts';
import { describeWaiting } from '../blocks/describe-block.ts';
import type { Deciding, Reading } from '../engine-context.ts';
import { describeChildren, waitingChildren, type ChildView } from './describe-children.ts';
import { withWhatIsHere } from './list-threads.ts';
import type { ThreadSummary } from './read-listed.ts';
import { isOfClass, orElse } from '../../or-else.ts';
import { LeaseDamaged } from '../engine-errors.ts';
import { findLease } from '../leases/find-lease.ts';
import { findKeptReply } from '../recovery/pending-turn.ts';
import { openUsage } from '../recovery/turn-log.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import { setMember } from '../../json.ts';
import { findVerdict, listCorrupt } from '../../verify/remembered-verdicts.ts';

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

/** Describes one thread; see `Engine.describe`. */
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
