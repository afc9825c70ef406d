import { iso } from '../../time/clock.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { asksForWords, hintToResume } from '../../thread/thread-status.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { findThread, getThread } from '../../thread/find-thread.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import type { SuspensionOutline } from '../../thread/exchange.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import type { BranchName } from '../events.ts';
import { describeWaiting } from '../blocks/describe-block.ts';
import type { Deciding, Reading } from '../engine-context.ts';
import { describeChildren, waitingChildren, type ChildView } from './describe-children.ts';
import type { ThreadFacts, ThreadUsage } from './facts.ts';
import { withVerdict } from './listed-facts.ts';
import { summarize, type ThreadSummary } from './list-threads.ts';
import { isOfClass, orElse } from '../../or-else.ts';
import { LeaseDamaged } from '../engine-errors.ts';
import { findLease } from '../leases/find-lease.ts';
import { findKeptReply } from '../recovery/pending-turn.ts';
import { openUsage } from '../recovery/turn-log.ts';
import { addUsage } from '../../schema/built-in/schema-parts.ts';
import { setMember } from '../../json.ts';
import { listCorrupt } from '../../verify/remembered-verdicts.ts';

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

/** Describes one thread; see `Engine.describe`. */
export async function describeThread(engine: Reading, idOrPrefix: string): Promise<ThreadView> {
  const pointer = await getThread(engine.repository, idOrPrefix);
  const { facts, state } = await factsOf(engine, pointer);
  // The rest is told also where the lease is damaged.
  const lease = orElse(() => findLease(engine.repository, pointer.id), undefined, isOfClass(LeaseDamaged));
  const summary = summarize(engine.repository, pointer, facts);
  const calls = await describeChildren(engine, state, facts);
  const waiting = waitingChildren({ cause: facts.cause, calls });
  const [first] = waiting;
  const below = first === undefined ? undefined : await describeThread(engine, first);
  const branches = waiting.length > 1 ? await questionsOf(engine, waiting) : [];
  return {
    ...summary,
    head: pointer.head,
    workflowHash: facts.workflowHash,
    parent: await parentOf(engine, facts),
    branch: facts.branch ?? null,
    parentState: facts.parentState,
    children: calls.map(({ thread }) => thread),
    calls,
    depth: facts.depth,
    reason: branches.length > 1 ? describeWaiting(branches) : (below?.reason ?? facts.reason),
    waitsFor: below?.waitsFor ?? first ?? null,
    suspension: facts.status === 'suspended' ? await readSuspension(engine.repository, pointer.head) : null,
    returnCode: facts.returnCode,
    cancelledBy: facts.status === 'cancelled' ? await readPerson(engine.repository, pointer.head) : null,
    kept: findKeptReply(engine.repository, pointer.id) ?? null,
    ...(await withOpenUsage(engine.repository, pointer.id, facts)),
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
async function questionsOf(engine: Reading, waiting: readonly ThreadId[]): Promise<{ key: string; reason: string }[]> {
  const questions: { key: string; reason: string }[] = [];
  for (const thread of waiting) {
    const { branch, reason } = (await factsOf(engine, await getThread(engine.repository, thread))).facts;
    if (branch !== undefined) questions.push({ key: branch.key, reason: reason ?? '' });
  }
  return questions;
}

/** The cached facts of a head have no texts, because texts have no bounds. */
async function readSuspension(repository: Repository, head: ObjectId): Promise<SuspensionOutline | null> {
  const { readThreadCommit } = await import('../../thread/thread-commit.ts');
  const { outlineSuspension } = await import('../../thread/exchange.ts');
  const commit = await readThreadCommit(repository, head);
  return commit.kind === 'suspend' ? outlineSuspension(repository, commit) : null;
}

async function readPerson(repository: Repository, head: ObjectId): Promise<string | null> {
  const [{ readThreadCommit }, { personOf }] = await Promise.all([
    import('../../thread/thread-commit.ts'),
    import('../../thread/thread-commit.ts'),
  ]);
  return personOf(await readThreadCommit(repository, head)) ?? null;
}

/** The fork that called a thread, where it is known and still there, else the thread that it was a fork of. */
async function parentOf({ repository }: Reading, { parent, caller }: ThreadFacts): Promise<ThreadId | null> {
  if (caller === null || caller === parent) return parent;
  return (await findThread(repository, caller))?.id ?? parent;
}

/** What the head says, and what verification has found. */
async function factsOf(engine: Reading, pointer: ThreadPointer): Promise<{ facts: ThreadFacts; state: ThreadState }> {
  const { repository } = engine;
  // Deciding who is next loads much more than listing threads.
  const [{ readState }, gathering] = await Promise.all([
    import('../../thread/thread-state.ts'),
    import('./gather-facts.ts'),
  ]);
  const state = await readState(repository, pointer.id, pointer.head);
  const facts = await gathering.factsOf(engine, state);
  return { facts: withVerdict(repository, pointer, listCorrupt(repository), facts), state };
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
