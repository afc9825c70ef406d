import { findLimitWaitedAt, WaitsAtLimit } from '../limits/limits.ts';
import type { Repository } from '../../git/repository.ts';
import { inPlaceOf } from '../../or-else.ts';
import type { MoreLimits } from '../../schema/built-in/thread-resume.ts';
import type { SuspendCause } from '../../schema/built-in/thread-suspend.ts';
import { asksForWords } from '../../thread/hint-to-go-on.ts';
import { findThreadsAt } from '../../thread/find/find-children.ts';
import { findThread } from '../../thread/find/find-thread.ts';
import { reopenThread, resumeThread } from '../../thread/append/resume-thread.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';
import { readState, stateHash, type ThreadState } from '../../thread/read/thread-state.ts';
import { statusOfHead } from '../../thread/read/thread-status.ts';
import { RESUME } from '../../workflow/definition.ts';
import { admitThreads } from '../agents/admission.ts';
import { tellTaken, type EngineContext } from '../engine-context.ts';
import { branchOf, tellContinued } from '../children/branch-of.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { findWaitingChild, findWaitingChildren } from '../children/waiting-children.ts';
import type { ThreadOver } from '../events.ts';
import { LeaseHeld, type Lease } from '../leases/lease.ts';
import { runOn, runThread, type RunOptions } from './run.ts';
import { readCurrent, withThread } from '../leases/with-thread.ts';

export type ResumeOptions = RunOptions & {
  answer?: string | undefined;
  /** How much more than its limits the thread may use. */
  more?: MoreLimits | undefined;
};

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
  return withThread(engine, thread, adoptLease, async (before, lease) => {
    const { answer, more } = options;
    if (answer === undefined && (await takeUpBranches(engine, before, more))) {
      return runResumed(engine, lease, before, {});
    }
    const child = await findAnsweredChild(engine, before, answer);
    if (child === undefined) {
      assertHears(before, answer);
      return runResumed(engine, lease, before, options);
    }
    await goOn(engine, child, options);
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
  let above = [current];
  while (above.length > 0) {
    const callers = await Promise.all(above.map((child) => findCallers(engine.repository, child)));
    above = callers.flat().filter(isNew);
    for (const caller of above) states.set(caller.id, caller);
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
  { answer, more, ...wish }: Resumption,
): Promise<ThreadOver> {
  await assertWithinLimits(engine, before, more);
  const resumed = await storeResumption(engine, before, { answer, more });
  tellContinued(engine, resumed);
  const isAnswered = answer !== undefined;
  return runOn(engine, lease, resumed, { isAnswered, ...wish });
}

/** Stores the resumption of a suspended thread, and runs nothing. One whose run was cut off goes on without, unless it is answered. */
export async function storeResumption(
  engine: EngineContext,
  before: ThreadState,
  { answer, more }: Pick<ResumeOptions, 'answer' | 'more'>,
): Promise<ThreadState> {
  const isCutOff = before.head.kind !== 'suspend' && answer === undefined && more === undefined;
  const redaction = engine.redaction();
  const said = answer && redaction.text(answer);
  const resumed = isCutOff ? before : await resumeThread(engine.repository, before, said, more, redaction.taken);
  tellTaken(engine, { thread: before.id, role: null }, redaction);
  return resumed;
}

/** Causes that a new try may do away with. The others need a person who has seen what happened in that thread. */
const passing: ReadonlySet<SuspendCause> = new Set(['agent', 'invalid-reply', 'timeout', 'limit']);

/**
 * Takes up all branches of a block that wait, but for those that ask for words: the caller then runs them beside each other.
 * @returns false if fewer than two wait, or all of them ask
 */
export async function takeUpBranches(engine: EngineContext, state: ThreadState, more?: MoreLimits): Promise<boolean> {
  const waiting = await findWaitingChildren(engine, state);
  if (waiting.length < 2 || waiting.every(({ branch }) => branch === undefined)) return false;
  return takeUpBelow(engine, state, more);
}

/** Resumes a thread without running it, if it waits for no words. */
async function takeUp(engine: EngineContext, thread: ThreadId, more?: MoreLimits): Promise<boolean> {
  return withThread(engine, thread, undefined, async (state) => {
    if (state.head.kind !== 'suspend') return false;
    const { node } = state.head;
    const isPassing = node.cause === 'child' ? await takeUpBelow(engine, state, more) : passing.has(node.cause);
    if (!isPassing || asksForWords(node) || (await findLimitWaitedAt(engine, state, more))) return false;
    await resumeThread(engine.repository, state, undefined, more);
    return true;
  });
}

async function takeUpBelow(engine: EngineContext, state: ThreadState, more?: MoreLimits): Promise<boolean> {
  let isAny = false;
  for (const { thread } of await findWaitingChildren(engine, state)) {
    const isTaken = await takeUp(engine, thread, more).catch(inPlaceOf(LeaseHeld, false));
    isAny ||= isTaken;
  }
  return isAny;
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
 * @throws {WrongThreadState} {WaitsAtLimit}
 */
export async function checkResumption(
  engine: EngineContext,
  thread: string,
  options: Pick<ResumeOptions, 'answer' | 'more' | 'agent'> = {},
): Promise<void> {
  const state = await readCurrent(engine.repository, thread);
  await checkState(engine, state, { answer: options.answer, more: options.more });
  await admitResumption(engine, state, options.agent);
}

async function checkState(
  engine: EngineContext,
  state: ThreadState,
  { answer, more }: { answer: string | undefined; more: MoreLimits | undefined },
): Promise<void> {
  if (state.end) return assertCanReopen(engine, state);
  const child = await findAnsweredChild(engine, state, answer);
  if (child !== undefined) return checkState(engine, await readCurrent(engine.repository, child), { answer, more });
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

async function assertCanReopen(engine: EngineContext, ended: ThreadState): Promise<void> {
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

async function reopen(
  engine: EngineContext,
  ended: ThreadState,
  { answer, more, ...wish }: Resumption,
): Promise<ThreadOver> {
  return runThread(engine, (await storeReopened(engine, ended, { answer, more })).id, wish);
}

/** Takes an ended thread up as a new one, and runs nothing. */
export async function storeReopened(
  engine: EngineContext,
  ended: ThreadState,
  { answer, more }: Pick<ResumeOptions, 'answer' | 'more'>,
): Promise<ThreadState> {
  await assertCanReopen(engine, ended);
  const redaction = engine.redaction();
  const said = answer && redaction.text(answer);
  const reopened = await reopenThread(engine.repository, ended, said, more, redaction.taken);
  tellTaken(engine, { thread: reopened.id, role: null }, redaction);
  return reopened;
}

/** Goes on with the thread that waits for a child, where there is one and it waits for no other child. */
async function resumeParent(engine: EngineContext, child: ThreadState): Promise<void> {
  for (const parent of await findCallers(engine.repository, child)) {
    const { head } = parent;
    if (head.kind !== 'suspend' || head.node.cause !== 'child') continue;
    if (head.node.role !== child.start.node.parentRole || stateHash(parent) !== child.start.node.parentState) continue;
    if ((await findWaitingChild(engine, parent)) === undefined) await resumeAndRun(engine, parent.id);
    else if (await isDecided(engine, parent)) await resumeDecided(engine, parent.id);
  }
}

/** Goes on with a thread whose block needs none of the branches that wait. */
async function resumeDecided(engine: EngineContext, thread: ThreadId): Promise<void> {
  const over = await withThread(engine, thread, undefined, (state, lease) => runResumed(engine, lease, state, {}));
  if (over.event !== 'thread.suspended') await resumeParent(engine, await readCurrent(engine.repository, thread));
}

async function isDecided(engine: EngineContext, state: ThreadState): Promise<boolean> {
  const { isBlockDecided } = await import('../blocks/is-decided.ts');
  return isBlockDecided(engine, state);
}

/** The threads that may have called a child: one, or in threads of earlier versions all forks that stand where it stood. */
async function findCallers(repository: Repository, { start: { node } }: ThreadState): Promise<ThreadState[]> {
  const { call, parentThread, parentState } = node;
  if (parentThread === null || parentState === null) return [];
  if (call === undefined) return findThreadsAt(repository, parentThread, parentState);
  const caller = await findThread(repository, parseThreadId(call.thread));
  return caller === undefined ? [] : [await readState(repository, caller.id, caller.head)];
}
