import type { Repository } from '../git/repository.ts';
import type { MoreLimits } from '../schema/built-in/thread-resume.ts';
import { findCalledNow, findThreadsAt, findUnkeyedNow } from '../thread/find-children.ts';
import { findThread } from '../thread/find-thread.ts';
import { reopenThread, resumeThread } from '../thread/resume-thread.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { WrongThreadState } from '../thread/thread-errors.ts';
import { parseThreadId, type ThreadId } from '../thread/thread-id.ts';
import { readThread, stateHash, type ThreadState } from '../thread/thread-state.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import { RESUME } from '../workflow/definition.ts';
import { admitThreads } from './admission.ts';
import type { EngineContext } from './context.ts';
import { definitionOf } from './definition-of.ts';
import type { ThreadOver } from './events.ts';
import { findLease } from './find-lease.ts';
import type { Lease } from './lease.ts';
import { runOn, runThread, type RunOptions } from './run.ts';
import { inSlot } from './slots.ts';
import type { TurnWish } from './step.ts';
import { tellTaken } from './tell-taken.ts';
import { findLimitWaitedAt, WaitsAtLimit } from './thread-limits.ts';
import { readCurrent, withLease } from './with-thread.ts';

export type ResumeOptions = RunOptions & {
  answer?: string;
  /** How much more than its limits the thread may use. */
  more?: MoreLimits | undefined;
};

/**
 * Lets a suspended thread, or one whose run was cut off, go on and runs it; see `Engine.resume`.
 *
 * A thread that waits for a child goes on with that: the answer is the child's, however far below the question was asked.
 * When a child that was resumed by itself is over, the parent that waits for it goes on too.
 */
export async function resumeAndRun(
  context: EngineContext,
  thread: string,
  options: ResumeOptions = {},
): Promise<ThreadOver> {
  const current = await readCurrent(context.repository, thread);
  const wish = wishOf(options);
  await admitResumption(context, current, options.agent);
  if (current.end) return reopen(context, current, options, wish);
  const over = await goOn(context, current.id, options);
  if (over.event !== 'thread.suspended') await resumeParent(context, current);
  return over;
}

async function goOn(context: EngineContext, thread: ThreadId, options: ResumeOptions): Promise<ThreadOver> {
  return withLease(context, thread, options.adoptLease, async (before, lease) => {
    const child = await findWaitingChild(context, before);
    if (child === undefined) {
      assertHears(before, options.answer);
      return runResumed(context, lease, before, options);
    }
    const { adoptLease: _ofThisThread, ...below } = options;
    await goOn(context, child, below);
    // The parent's turn is not paid for while it would only hear that a child waits.
    const next = await findWaitingChild(context, before);
    if (next === undefined) return runResumed(context, lease, before, {});
    const status = statusOfHead(before.head, false);
    const text = await readQuestion(context, next);
    const at = { thread, status, returnCode: null, head: before.head.id };
    const over: ThreadOver = { event: 'thread.suspended', ...at, text };
    context.tell(over);
    return over;
  });
}

/** Has all agents admitted that a resumption can need: of the thread, of those that it waits for, and of those that wait. */
async function admitResumption(context: EngineContext, current: ThreadState, wanted?: string): Promise<void> {
  // A thread can be made to name itself as its caller.
  const states = new Map([[current.id, current]]);
  let below = await findWaitingChild(context, current);
  while (below !== undefined && !states.has(below)) {
    const child = await readCurrent(context.repository, below);
    states.set(child.id, child);
    below = await findWaitingChild(context, child);
  }
  const isNew = ({ id, head }: ThreadState): boolean =>
    !states.has(id) && head.kind === 'suspend' && head.node.cause === 'child';
  let above = [current];
  while (above.length > 0) {
    const callers = await Promise.all(above.map((child) => findCallers(context.repository, child)));
    above = callers.flat().filter(isNew);
    for (const caller of above) states.set(caller.id, caller);
  }
  await admitThreads(context, [...states.values()], wanted);
}

/** What a suspended thread, or the one below that it waits for, has asked. */
async function readQuestion(context: EngineContext, thread: ThreadId): Promise<string> {
  const state = await readCurrent(context.repository, thread);
  const child = await findWaitingChild(context, state);
  if (child !== undefined) return readQuestion(context, child);
  return state.head.kind === 'suspend' ? state.head.node.reason : '';
}

async function runResumed(
  context: EngineContext,
  lease: Lease,
  before: ThreadState,
  { answer, more, ...options }: ResumeOptions,
): Promise<ThreadOver> {
  await assertWithinLimits(context, before, more);
  // A run that was cut off waits for nobody: without a word it simply goes on.
  const isCutOff = before.head.kind !== 'suspend' && answer === undefined && more === undefined;
  const redaction = context.redaction();
  const said = answer && redaction.text(answer);
  const resumed = isCutOff ? before : await resumeThread(context.repository, before, said, more, redaction.taken);
  tellTaken(context, { thread: before.id, role: null }, redaction);
  const wish = { isAnswered: answer !== undefined, ...wishOf(options) };
  return inSlot(context, resumed, () => runOn(context, lease, resumed, wish));
}

function wishOf({ agent, allowSecrets }: RunOptions): TurnWish {
  return { ...(agent !== undefined && { agent }), ...(allowSecrets !== undefined && { allowSecrets }) };
}

/** The child that a suspended thread waits for, if that waits itself: of several the one that began first. */
async function findWaitingChild({ repository }: EngineContext, state: ThreadState): Promise<ThreadId | undefined> {
  if (state.head.kind !== 'suspend' || state.head.node.cause !== 'child') return undefined;
  const called = [...(await findCalledNow(repository, state, state.id)), ...(await findUnkeyedNow(repository, state))];
  for (const { pointer } of called.toSorted((a, b) => a.start.node.startedAtMs - b.start.node.startedAtMs)) {
    const { kind } = await readThreadCommit(repository, pointer.head);
    if (kind === 'suspend' && findLease(repository, pointer.id) === undefined) return pointer.id;
  }
  return undefined;
}

/**
 * Refuses what {@link resumeAndRun} would refuse, for one that runs in a process of its own; see `Engine.checkResume`.
 * @throws {WrongThreadState} {WaitsAtLimit}
 */
export async function checkResumption(
  context: EngineContext,
  thread: string,
  options: Pick<ResumeOptions, 'answer' | 'more' | 'agent'>,
): Promise<void> {
  const state = await readCurrent(context.repository, thread);
  await checkState(context, state, { answer: options.answer, more: options.more });
  await admitResumption(context, state, options.agent);
}

async function checkState(
  context: EngineContext,
  state: ThreadState,
  { answer, more }: { answer: string | undefined; more: MoreLimits | undefined },
): Promise<void> {
  if (state.end) return assertCanReopen(context, state);
  const child = await findWaitingChild(context, state);
  if (child !== undefined) return checkState(context, await readCurrent(context.repository, child), { answer, more });
  assertHears(state, answer);
  await assertWithinLimits(context, state, more);
}

/**
 * Refuses an answer to the question of a child that does not wait here: a fork has none yet, and one that another repository
 * has was not fetched. Nothing would hear it.
 */
function assertHears({ id, head }: ThreadState, answer: string | undefined): void {
  if (answer === undefined || head.kind !== 'suspend' || head.node.cause !== 'child') return;
  throw new WrongThreadState(
    id,
    'suspended',
    'no child thread of it waits for an answer here',
    `'uwf fetch' brings a child from where it was called; 'uwf thread resume ${id}' takes the turn again, and calls what is not here once more`,
  );
}

async function assertWithinLimits(
  context: EngineContext,
  state: ThreadState,
  more: MoreLimits | undefined,
): Promise<void> {
  const reached = await findLimitWaitedAt(context, state, more);
  if (reached) throw new WaitsAtLimit(state.id, reached);
}

async function assertCanReopen(context: EngineContext, ended: ThreadState): Promise<void> {
  if (ended.end?.node.outcome === 'cancelled') {
    throw new WrongThreadState(
      ended.id,
      'cancelled',
      'a cancelled thread does not go on',
      `run 'uwf thread fork ${ended.id}' to go on from its last step as another thread`,
    );
  }
  const definition = await definitionOf(context, ended);
  if (!definition.moderator.some((rule) => rule.from === RESUME)) {
    throw new WrongThreadState(
      ended.id,
      statusOfHead(ended.head, false),
      `workflow ${definition.name} has no rule from ${RESUME} that says who goes on`,
      `add one to the workflow, or start a new thread with 'uwf run ${definition.name}'`,
    );
  }
}

async function reopen(
  context: EngineContext,
  ended: ThreadState,
  { answer, more }: ResumeOptions,
  wish: RunOptions,
): Promise<ThreadOver> {
  await assertCanReopen(context, ended);
  const redaction = context.redaction();
  const said = answer && redaction.text(answer);
  const reopened = await reopenThread(context.repository, ended, said, more, redaction.taken);
  tellTaken(context, { thread: reopened.id, role: null }, redaction);
  return runThread(context, reopened.id, wish);
}

/** Goes on with the thread that waits for a child, where there is one and it waits for no other child. */
async function resumeParent(context: EngineContext, child: ThreadState): Promise<void> {
  for (const parent of await findCallers(context.repository, child)) {
    const { head } = parent;
    if (head.kind !== 'suspend' || head.node.cause !== 'child') continue;
    if (head.node.role !== child.start.node.parentRole || stateHash(parent) !== child.start.node.parentState) continue;
    if ((await findWaitingChild(context, parent)) === undefined) await resumeAndRun(context, parent.id);
  }
}

/** The threads that may have called a child: one, or in threads of earlier versions all forks that stand where it stood. */
async function findCallers(repository: Repository, { start: { node } }: ThreadState): Promise<ThreadState[]> {
  const { call, parentThread, parentState } = node;
  if (parentThread === null || parentState === null) return [];
  if (call === undefined) return findThreadsAt(repository, parentThread, parentState);
  const caller = await findThread(repository, parseThreadId(call.thread));
  return caller === undefined ? [] : [await readThread(repository, caller.id, caller.head)];
}
