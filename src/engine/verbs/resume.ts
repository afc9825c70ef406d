import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { inPlaceOf } from '../../or-else.ts';
import type { MoreLimits } from '../../schema/built-in/schema-parts.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import { findThread } from '../../thread/find-thread.ts';
import { reopenThread, resumeThread } from '../../thread/thread-verbs.ts';
import { ThreadMoved, WrongThreadState } from '../../thread/thread-errors.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { asksForWords, readState, stateHash, statusOfHead, type ThreadState } from '../../thread/thread-state.ts';
import { RESUME } from '../../workflow/definition.ts';
import { admitThreads } from '../agents/admission.ts';
import { definitionOf, tellContinued } from '../children/sub-workflow.ts';
import { findWaitingChild, findWaitingChildren } from '../children/waiting-children.ts';
import { describeOver } from '../describe/gather-facts.ts';
import {
  type Deciding,
  type EngineContext,
  type Machine,
  type Reading,
  type Telling,
  tellTaken,
} from '../engine-context.ts';
import { branchOf, type ThreadOver } from '../events.ts';
import { type Lease, LeaseHeld } from '../leases/lease.ts';
import { readCurrent, withThread } from '../leases/with-thread.ts';
import { findLimitWaitedAt } from '../limits/allowance.ts';
import { WaitsAtLimit } from '../limits/limits.ts';
import { joinThread } from './join.ts';
import { asksPerson } from './put-question.ts';
import { runOn, type RunOptions, runThread } from './run.ts';

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
async function admitResumption(engine: Machine, current: ThreadState, wanted?: string): Promise<void> {
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
async function readQuestion(engine: Reading, thread: ThreadId): Promise<string> {
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
async function findAnsweredChild(
  engine: Reading,
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

/** See `Engine.checkResume`. @throws {WrongThreadState} {WaitsAtLimit} {ThreadMoved} */
export async function checkResumption(
  engine: Machine,
  thread: string,
  { agent, ...given }: Pick<ResumeOptions, 'answer' | 'more' | 'agent' | 'givenAtMs'> = {},
): Promise<void> {
  const state = await readCurrent(engine.repository, thread);
  await checkState(engine, state, given);
  await admitResumption(engine, state, agent);
}

async function checkState(
  engine: Deciding,
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
function assertHears({ id, head }: ThreadState, answer: string | undefined): void {
  if (answer === undefined || head.kind !== 'suspend' || head.node.cause !== 'child') return;
  const hint = `'uwf fetch' brings a child from where it was called; 'uwf thread resume ${id}' takes the turn again, and calls what is not here once more`;
  throw new WrongThreadState(id, 'suspended', 'no child thread of it waits for an answer here', hint);
}

async function assertWithinLimits(engine: Deciding, state: ThreadState, more?: MoreLimits): Promise<void> {
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

async function isDecided(engine: Deciding, state: ThreadState): Promise<boolean> {
  const { isBlockDecided } = await import('../blocks/is-decided.ts');
  return isBlockDecided(engine, state);
}

/** The thread that called a child; `undefined` if it is not here. */
async function findCaller(repository: Repository, { start: { node } }: ThreadState): Promise<ThreadState | undefined> {
  const caller = node.call && (await findThread(repository, parseThreadId(node.call.thread)));
  return caller && readState(repository, caller.id, caller.head);
}

/** See `Engine.answer`. */
export async function answerThread(
  engine: Deciding & Telling,
  thread: string,
  answer: AnswerOptions = {},
): Promise<ThreadId> {
  const current = await readCurrent(engine.repository, thread);
  if (current.end) return (await storeReopened(engine, current, answer)).id;
  await store(engine, current.id, answer);
  return current.id;
}

async function store(engine: Deciding & Telling, thread: ThreadId, given: AnswerOptions): Promise<void> {
  const { answer, more } = given;
  await withThread(engine, thread, undefined, async (state: ThreadState) => {
    const taken = answer === undefined ? await takeUpWaiting(engine, state, more) : undefined;
    // The thread itself goes on when no child of it waits any more.
    if (taken !== undefined) return void (taken.more && (await storeResumption(engine, state, taken)));
    const child = await findAnsweredChild(engine, state, answer);
    if (child !== undefined) return store(engine, child, given);
    assertHears(state, answer);
    await assertWithinLimits(engine, state, more);
    await storeResumption(engine, state, given);
  });
}

/** Causes that a new try may do away with. The others need a person who has seen what happened in that thread. */
const passing: ReadonlySet<SuspendCause> = new Set([
  'agent',
  'invalid-reply',
  'timeout',
  'limit',
  'interrupted',
  'rule',
]);

/**
 * Takes up the children that a suspended thread waits for, where no words are needed and the thread can then run them by itself:
 * all branches of a block, and children that wait at a limit of the thread that `more` raises.
 * @returns how much more the thread itself is given; undefined if nothing was taken up
 */
export async function takeUpWaiting(
  engine: Deciding & Telling,
  state: ThreadState,
  more?: MoreLimits,
): Promise<{ more?: MoreLimits } | undefined> {
  if (more !== undefined && (await isWaitedAt(engine, state, state.id))) {
    return (await takeUpBelow(engine, state, more, state.id)) ? { more } : undefined;
  }
  const waiting = await findWaitingChildren(engine, state);
  if (waiting.length < 2 || waiting.every(({ branch }) => branch === undefined)) return undefined;
  return (await takeUpBelow(engine, state, more)) ? {} : undefined;
}

/** Tells whether a child of a thread, however far below, waits at a limit of a caller. */
async function isWaitedAt(engine: Deciding, state: ThreadState, caller: ThreadId): Promise<boolean> {
  for (const { thread } of await findWaitingChildren(engine, state)) {
    const child = await readCurrent(engine.repository, thread);
    if ((await findLimitWaitedAt(engine, child))?.caller === caller) return true;
    if (await isWaitedAt(engine, child, caller)) return true;
  }
  return false;
}

/**
 * Resumes the children that a thread waits for, without running them.
 * @param caller whom `more` is given, above all of them; default: each child that waits at a limit
 * @returns false if no child goes on
 */
async function takeUpBelow(
  engine: Deciding & Telling,
  state: ThreadState,
  more?: MoreLimits,
  caller?: ThreadId,
): Promise<boolean> {
  let isAny = false;
  for (const { thread } of await findWaitingChildren(engine, state)) {
    const isTaken = await takeUp(engine, thread, more, caller).catch(inPlaceOf(LeaseHeld, false));
    isAny ||= isTaken;
  }
  return isAny;
}

/** Resumes a thread without running it, if it waits for no words. */
async function takeUp(
  engine: Deciding & Telling,
  thread: ThreadId,
  more: MoreLimits | undefined,
  caller: ThreadId | undefined,
): Promise<boolean> {
  return withThread(engine, thread, undefined, async (state) => {
    if (state.head.kind !== 'suspend') return false;
    const { node } = state.head;
    const isPassing = node.cause === 'child' ? await takeUpBelow(engine, state, more, caller) : passing.has(node.cause);
    if (!isPassing || asksForWords(node) || (await findLimitWaitedAt(engine, state, more))) return false;
    await storeResumption(engine, state, { more: caller === undefined ? more : undefined });
    return true;
  });
}

export type ResumeOptions = RunOptions & {
  answer?: string | undefined;
  /** How much more than its limits the thread may use. */
  more?: MoreLimits | undefined;
  /** The commit at which its question was read: a thread that has gone on since is not resumed. */
  seen?: ObjectId | undefined;
  /** When the answer was given, in ms since 1970: it is none to a question that was asked between then and now. */
  givenAtMs?: number | undefined;
};

type AnswerOptions = Pick<ResumeOptions, 'answer' | 'more' | 'seen' | 'givenAtMs'>;

/**
 * Stores the resumption of a suspended thread, and runs nothing. One whose run was cut off goes on without, unless it is answered.
 * @throws {ThreadMoved} if the thread is not as it was seen
 */
export async function storeResumption(
  engine: Deciding & Telling,
  before: ThreadState,
  { answer, more, ...given }: AnswerOptions,
): Promise<ThreadState> {
  assertAsSeen(engine, before, given);
  const isCutOff = before.head.kind !== 'suspend' && answer === undefined && more === undefined;
  const redaction = engine.redaction();
  const said = answer && redaction.text(answer);
  const resumed = isCutOff ? before : await resumeThread(engine.repository, before, said, more, redaction.taken);
  tellTaken(engine, { thread: before.id, role: null }, redaction);
  return resumed;
}

/** Takes an ended thread up as a new one, and runs nothing. */
async function storeReopened(
  engine: Deciding & Telling,
  ended: ThreadState,
  { answer, more, ...given }: AnswerOptions,
): Promise<ThreadState> {
  assertAsSeen(engine, ended, given);
  await assertCanReopen(engine, ended);
  const redaction = engine.redaction();
  const said = answer && redaction.text(answer);
  const reopened = await reopenThread(engine.repository, ended, said, more, redaction.taken);
  tellTaken(engine, { thread: reopened.id, role: null }, redaction);
  return reopened;
}

/** @throws {ThreadMoved} if the thread is not as the person who answers has seen it */
function assertAsSeen(
  { repository }: Reading,
  { id, head }: ThreadState,
  { seen, givenAtMs = Infinity }: Pick<AnswerOptions, 'seen' | 'givenAtMs'>,
): void {
  const sinceMs =
    head.kind === 'suspend' ? head.node.suspendedAtMs : head.kind === 'end' ? head.node.completedAtMs : -Infinity;
  // What is later than now has the time of another machine, which says nothing.
  const isUnread = sinceMs > givenAtMs && sinceMs <= repository.now();
  if (isUnread || (seen !== undefined && seen !== head.id)) throw new ThreadMoved(id, undefined, head.id);
}

/** @throws {WrongThreadState} if nothing says how the thread goes on after its end */
async function assertCanReopen(engine: Reading, ended: ThreadState): Promise<void> {
  if (ended.end?.node.outcome === 'cancelled') {
    const hint = `run 'uwf thread fork ${ended.id}' to go on from its last step as another thread`;
    throw new WrongThreadState(ended.id, 'cancelled', 'a cancelled thread does not go on', hint);
  }
  const definition = await definitionOf(engine, ended);
  if (!definition.moderator.some((rule) => rule.from === RESUME)) {
    const what = `workflow ${definition.name} has no rule from ${RESUME} that says who goes on`;
    const hint = `add one to the workflow, or start a new thread with 'uwf run ${definition.name}'`;
    throw new WrongThreadState(ended.id, statusOfHead(ended.head), what, hint);
  }
}
