import { findLimitWaitedAt } from '../limits/allowance.ts';
import { WaitsAtLimit } from '../limits/limits.ts';
import type { Repository } from '../../git/repository.ts';
import type { MoreLimits } from '../../schema/built-in/schema-parts.ts';
import { findThread } from '../../thread/find-thread.ts';
import { ThreadMoved, WrongThreadState } from '../../thread/thread-errors.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { readState, stateHash, type ThreadState } from '../../thread/thread-state.ts';
import { statusOfHead } from '../../thread/thread-status.ts';
import { admitThreads } from '../agents/admission.ts';
import type { EngineContext } from '../engine-context.ts';
import { branchOf, tellContinued } from '../children/branch-of.ts';
import { findWaitingChild, findWaitingChildren } from '../children/waiting-children.ts';
import type { ThreadOver } from '../events.ts';
import { LeaseHeld, type Lease } from '../leases/lease.ts';
import { describeOver } from '../describe/gather-facts.ts';
import { asksPerson } from './asks-person.ts';
import { joinThread } from './join.ts';
import { runOn, runThread } from './run.ts';
import { assertCanReopen, assertAsSeen, storeReopened, storeResumption, type ResumeOptions } from './store-answer.ts';
import { takeUpWaiting } from './take-up.ts';
import { readCurrent, withThread } from '../leases/with-thread.ts';

type Resumption = Omit<ResumeOptions, 'adoptLease'>;

/**
 * Lets a suspended thread, or one whose run was cut off, go on and runs it; see `Engine.resume`.
 *
 * A thread that waits for a child goes on with that: the answer is the child's, however far below the question was asked.
 * When a child that was resumed by itself is over, the parent that waits for it goes on too.
 */
export async function resumeAndRun(
  engine: EngineContext,
  thread: string,
  { adoptLease, ...options }: ResumeOptions = {},
): Promise<ThreadOver> {
  const current = await readCurrent(engine.repository, thread);
  await admitResumption(engine, current, options.agent);
  if (current.end) return reopen(engine, current, options);
  const over = await goOn(engine, current.id, options, adoptLease);
  if (over.event !== 'thread.suspended') await resumeParent(engine, current);
  return over;
}

async function goOn(
  engine: EngineContext,
  thread: ThreadId,
  options: Resumption,
  adoptLease?: string,
): Promise<ThreadOver> {
  const { answer, more, seen } = options;
  const isBare = answer === undefined && more === undefined;
  if (isBare && engine.askPerson !== undefined) {
    // The turn would ask once more: `putQuestion` puts the question as it stands. It needs no lease, so several terminals can ask.
    const current = await readCurrent(engine.repository, thread);
    const over = (await asksPerson(engine, current)) ? await describeOver(engine, current) : undefined;
    if (over !== undefined) return over;
  }
  return withThread(engine, thread, adoptLease, async (before, lease) => {
    assertAsSeen(engine, before, { seen });
    const taken = answer === undefined ? await takeUpWaiting(engine, before, more) : undefined;
    if (taken !== undefined) return runResumed(engine, lease, before, taken);
    const child = await findAnsweredChild(engine, before, answer);
    if (child === undefined) {
      assertHears(before, answer);
      return runResumed(engine, lease, before, options);
    }
    await goOn(engine, child, { ...options, seen: undefined });
    // The parent's turn is not paid for while it would only hear that a child waits.
    const next = await findWaitingChild(engine, before);
    if (next === undefined || (await isDecided(engine, before))) return runResumed(engine, lease, before, {});
    const status = statusOfHead(before.head);
    const text = await readQuestion(engine, next);
    const at = { thread, status, returnCode: null, head: before.head.id };
    const over: ThreadOver = { event: 'thread.suspended', ...at, text };
    engine.tell(over);
    return over;
  });
}

/** Has all agents admitted that a resumption can need: of the thread, of those that it waits for, and of those that wait. */
async function admitResumption(engine: EngineContext, current: ThreadState, wanted?: string): Promise<void> {
  // A thread can be made to name itself as its caller.
  const states = new Map([[current.id, current]]);
  let below = await findWaitingChild(engine, current);
  while (below !== undefined && !states.has(below)) {
    const child = await readCurrent(engine.repository, below);
    states.set(child.id, child);
    below = await findWaitingChild(engine, child);
  }
  const isNew = ({ id, head }: ThreadState): boolean =>
    !states.has(id) && head.kind === 'suspend' && head.node.cause === 'child';
  let above = await findCaller(engine.repository, current);
  while (above !== undefined && isNew(above)) {
    states.set(above.id, above);
    above = await findCaller(engine.repository, above);
  }
  await admitThreads(engine, [...states.values()], wanted);
}

/** What a suspended thread, or the one below that it waits for, has asked, behind the keys of the branches that these are. */
async function readQuestion(engine: EngineContext, thread: ThreadId): Promise<string> {
  const state = await readCurrent(engine.repository, thread);
  const child = await findWaitingChild(engine, state);
  const own = state.head.kind === 'suspend' ? state.head.node.reason : '';
  const question = child === undefined ? own : await readQuestion(engine, child);
  const branch = branchOf(state.start.node.call);
  return branch === undefined ? question : `${branch.key}: ${question}`;
}

async function runResumed(
  engine: EngineContext,
  lease: Lease,
  before: ThreadState,
  { answer, more, seen, givenAtMs, ...wish }: Resumption,
): Promise<ThreadOver> {
  await assertWithinLimits(engine, before, more);
  const resumed = await storeResumption(engine, before, { answer, more, seen, givenAtMs });
  tellContinued(engine, resumed);
  const isAnswered = answer !== undefined;
  return runOn(engine, lease, resumed, { isAnswered, ...wish });
}

/** An answer to a caller is meant for the child that asked. Of several branches, only the person knows which. */
export async function findAnsweredChild(
  engine: EngineContext,
  state: ThreadState,
  answer: string | undefined,
): Promise<ThreadId | undefined> {
  const waiting = await findWaitingChildren(engine, state);
  if (answer !== undefined && waiting.length > 1 && waiting.some(({ branch }) => branch !== undefined)) {
    const named = waiting
      .slice(0, 5)
      .map(({ thread, branch }) => `'uwf thread resume ${thread} -p <answer>' (${branch})`);
    const what = `${waiting.length} branches wait, each for its own answer`;
    throw new WrongThreadState(state.id, 'suspended', what, `answer one of them: ${named.join(', ')}`);
  }
  return waiting[0]?.thread;
}

/**
 * Refuses what {@link resumeAndRun} would refuse, for one that runs in a process of its own; see `Engine.checkResume`.
 * @throws {WrongThreadState} {WaitsAtLimit} {ThreadMoved}
 */
export async function checkResumption(
  engine: EngineContext,
  thread: string,
  { agent, ...given }: Pick<ResumeOptions, 'answer' | 'more' | 'agent' | 'givenAtMs'> = {},
): Promise<void> {
  const state = await readCurrent(engine.repository, thread);
  await checkState(engine, state, given);
  await admitResumption(engine, state, agent);
}

async function checkState(
  engine: EngineContext,
  state: ThreadState,
  given: Pick<ResumeOptions, 'answer' | 'more' | 'givenAtMs'>,
): Promise<void> {
  const { answer, more } = given;
  const child = state.end ? undefined : await findAnsweredChild(engine, state, answer);
  if (child !== undefined) return checkState(engine, await readCurrent(engine.repository, child), given);
  assertAsSeen(engine, state, given);
  if (state.end) return assertCanReopen(engine, state);
  assertHears(state, answer);
  await assertWithinLimits(engine, state, more);
}

/**
 * Refuses an answer to the question of a child that does not wait here: a fork has none yet, and one that another repository
 * has was not fetched. Nothing would hear it.
 */
export function assertHears({ id, head }: ThreadState, answer: string | undefined): void {
  if (answer === undefined || head.kind !== 'suspend' || head.node.cause !== 'child') return;
  const hint = `'uwf fetch' brings a child from where it was called; 'uwf thread resume ${id}' takes the turn again, and calls what is not here once more`;
  throw new WrongThreadState(id, 'suspended', 'no child thread of it waits for an answer here', hint);
}

export async function assertWithinLimits(engine: EngineContext, state: ThreadState, more?: MoreLimits): Promise<void> {
  const reached = await findLimitWaitedAt(engine, state, more);
  if (reached) throw new WaitsAtLimit(state.id, reached);
}

async function reopen(
  engine: EngineContext,
  ended: ThreadState,
  { answer, more, seen, givenAtMs, ...wish }: Resumption,
): Promise<ThreadOver> {
  return runThread(engine, (await storeReopened(engine, ended, { answer, more, seen, givenAtMs })).id, wish);
}

/**
 * Goes on with the thread that waits for a child, where there is one and it waits for no other child. Another process may do
 * that, or have it at this moment and leave it where it waits: the answer to another branch can have come at the same time.
 */
async function resumeParent(engine: EngineContext, child: ThreadState): Promise<void> {
  const parent = await findCaller(engine.repository, child);
  if (parent === undefined) return;
  const { head } = parent;
  if (head.kind !== 'suspend' || head.node.cause !== 'child') return;
  if (head.node.role !== child.start.node.parentRole || stateHash(parent) !== child.start.node.parentState) return;
  const isWaiting = (await findWaitingChild(engine, parent)) !== undefined;
  if (isWaiting && !(await isDecided(engine, parent))) return;
  const seen = { seen: head.id };
  try {
    await (isWaiting ? resumeDecided(engine, parent.id, seen) : resumeAndRun(engine, parent.id, seen));
  } catch (error) {
    if (!(error instanceof LeaseHeld || error instanceof ThreadMoved) || error.thread !== parent.id) throw error;
    await joinThread(engine, parent.id);
    await resumeParent(engine, child);
  }
}

/** Goes on with a thread whose block needs none of the branches that wait. */
async function resumeDecided(engine: EngineContext, thread: ThreadId, seen: Resumption): Promise<void> {
  const over = await withThread(engine, thread, undefined, (state, lease) => runResumed(engine, lease, state, seen));
  if (over.event !== 'thread.suspended') await resumeParent(engine, await readCurrent(engine.repository, thread));
}

async function isDecided(engine: EngineContext, state: ThreadState): Promise<boolean> {
  const { isBlockDecided } = await import('../blocks/is-decided.ts');
  return isBlockDecided(engine, state);
}

/** The thread that called a child; `undefined` if it is not here. */
async function findCaller(repository: Repository, { start: { node } }: ThreadState): Promise<ThreadState | undefined> {
  const caller = node.call && (await findThread(repository, parseThreadId(node.call.thread)));
  return caller && readState(repository, caller.id, caller.head);
}
