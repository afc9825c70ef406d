import type { ChildOutcome } from '../../agent/contract.ts';
import { UwfError } from '../../errors.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadCall } from '../../schema/built-in/thread-start.ts';
import { findThread } from '../../thread/find-thread.ts';
import { callIdFor, type CallPlace } from '../../thread/new-thread-id.ts';
import { stateHash, type ThreadState } from '../../thread/thread-state.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { findRole, type WorkflowDefinition } from '../../workflow/definition.ts';
import { admitThreads, admitWorkflow } from '../agents/admission.ts';
import type { ThreadOver } from '../events.ts';
import type { ChildRequest, ChildResult, EngineContext, Machine, Telling } from '../engine-context.ts';
import { definitionOf, pinnedDefinition, pinnedSubWorkflow, tellContinued } from './sub-workflow.ts';
import { KeyTaken } from '../engine-errors.ts';
import { type Lease, LeaseHeld, stopDone } from '../leases/lease.ts';
import { combineLimits } from '../limits/limits.ts';
import { enterRunTree, runTreeOf } from '../limits/enter-run-tree.ts';
import { describeOver } from '../describe/gather-facts.ts';
import { runOn } from '../verbs/run.ts';
import { start } from '../verbs/start.ts';
import { readCurrent, withLease } from '../leases/with-thread.ts';

/**
 * Runs the child thread of a call to its end or its suspension: the one that was started for this call, whichever process
 * did that, else a new one.
 *
 * The child's lease is taken before the child is looked for, so that of two processes with the same call one pays. A new
 * child runs the definition that was pinned when the parent started. A child that waits for a person is left as it is.
 * Another process may stop or cancel the child alone: then it waits, or has ended.
 * @throws {KeyTaken} if the key of the call led to a child that was called otherwise
 */
export async function runChild(
  engine: EngineContext,
  parent: ThreadState,
  request: ChildRequest,
): Promise<ChildResult> {
  const signal = AbortSignal.any([engine.signal, request.signal]);
  const stop = new AbortController();
  const own = await definitionOf(engine, parent);
  const { limits, depth } = parent.start.node;
  const ofRole = findRole(own, request.call.role)?.limits;
  const inner: EngineContext = {
    ...engine,
    signal: AbortSignal.any([signal, stop.signal]),
    caller: runTreeOf(
      engine,
      { id: parent.id, depth },
      combineLimits(engine.config.limits, own.limits, ofRole, limits),
    ),
  };
  const id = callIdFor(request.call);
  let token = '';
  try {
    return await withLease(inner, id, undefined, (lease) => {
      ({ token } = lease);
      lease.hearStops(() => stop.abort(new Error('another process stopped this thread')));
      return runUnderLease(inner, lease, id, parent, request);
    });
  } catch (error) {
    const isStopped = stop.signal.aborted && !signal.aborted && isOfStop(error);
    if (isStopped) {
      await stopDone(engine.repository, id, token, signal);
      if (!signal.aborted) return lookAtStopped(engine, id);
    }
    if (!(error instanceof LeaseHeld) || error.thread !== id) throw error;
    // The parent goes on when that process is done and a person resumes the parent.
    return waiting(id, parent, 'another process runs the child thread');
  }
}

async function runUnderLease(
  engine: EngineContext,
  lease: Lease,
  id: ThreadId,
  parent: ThreadState,
  request: ChildRequest,
): Promise<ChildResult> {
  const { repository } = engine;
  const found = (await findThread(repository, id)) && (await readCurrent(repository, id));
  if (found) {
    await assertSameCall(engine, parent, found, request);
    await admitThreads(engine, [found]);
  }
  const child = found ?? (await startChild(engine, parent, request));
  // A person answers it by resuming the child or the parent.
  if (child.head.kind === 'suspend') return waiting(id, child, child.head.node.reason);
  if (request.isLeft === true && child.end === undefined) {
    return { ...waiting(id, child, 'another machine takes its turns'), isElsewhere: true };
  }
  if (found !== undefined && found.end === undefined) tellContinued(engine, found);
  // The end of a child that was over before has been told.
  const over = (child.end && (await describeOver(engine, child))) ?? (await runOn(engine, lease, child));
  if (over.event === 'thread.suspended') {
    return { outcome: { kind: 'suspended', threadId: id, reason: over.text }, head: over.head };
  }
  return resultOf(repository, over);
}

/** Tells whether the run ended because it was stopped. Any other failure, as of storing a step, is raised all the same. */
function isOfStop(error: unknown): boolean {
  return !(error instanceof UwfError) || error.kind === 'interrupted';
}

/** What became of a child that another process stopped: it may have cancelled it, too. */
async function lookAtStopped(engine: Telling, id: ThreadId): Promise<ChildResult> {
  const child = await readCurrent(engine.repository, id);
  const over = child.end && (await describeOver(engine, child));
  if (over === undefined) {
    const reason = `it was stopped; 'uwf thread resume ${id}' goes on with it`;
    return { ...waiting(id, child, reason), isStopped: true };
  }
  engine.relay(over);
  return resultOf(engine.repository, over);
}

async function resultOf(repository: Repository, over: ThreadOver): Promise<ChildResult> {
  const head = await readThreadCommit(repository, over.head);
  if (head.kind !== 'end') throw new CorruptThread(over.head, 'a thread that is over ends in no end');
  const { outcome, returnCode } = head.node;
  const { thread: threadId, text: summary } = over;
  const ended: ChildOutcome = { kind: 'ended', endHash: head.hash, threadId, returnCode, outcome, summary };
  return { outcome: ended, head: head.id };
}

function waiting(id: ThreadId, { head }: ThreadState, reason: string): ChildResult {
  return { outcome: { kind: 'suspended', threadId: id, reason }, head: head.id };
}

/** Makes sure that a thread of a child's id is that child: an id can be forged, and a key given twice. */
async function assertSameCall(
  engine: Machine,
  parent: ThreadState,
  child: ThreadState,
  { call, isOwnKey, workflow, prompt, branch }: ChildRequest,
): Promise<void> {
  const { node } = child.start;
  const wanted = storedCall(call, isOwnKey);
  const isSame =
    node.parentThread === parent.start.hash &&
    node.parentState === stateHash(parent) &&
    node.parentRole === call.role &&
    node.call?.thread === wanted.thread &&
    node.call.key === wanted.key &&
    node.call.ordinal === wanted.ordinal &&
    node.call.block === wanted.block &&
    child.prompt === prompt;
  if (!isSame) throw new KeyTaken(call.key, child.id);
  // A key that is not the agent's own names the workflow.
  if (!isOwnKey) return;
  const { name } = await definitionOf(engine, child);
  // Under its name the workflow may have changed since.
  if (name !== (await definitionFor(engine, parent, branch?.pinnedAs ?? call.role, workflow)).name)
    throw new KeyTaken(call.key, child.id);
}

function storedCall({ thread, key, ordinal, block }: CallPlace, isOwnKey: boolean): ThreadCall {
  return { thread, key, ...(block !== undefined && { block }), ...(!isOwnKey && { ordinal }) };
}

async function definitionFor(
  engine: Machine,
  parent: ThreadState,
  role: string,
  workflow: string,
): Promise<WorkflowDefinition> {
  const pinned = await pinnedSubWorkflow(engine, parent, role, workflow);
  return pinned ? pinnedDefinition(engine, parent, pinned) : engine.resolveWorkflow(workflow);
}

async function startChild(
  engine: Machine & Telling,
  parent: ThreadState,
  { call, isOwnKey, workflow, prompt, branch }: ChildRequest,
): Promise<ThreadState> {
  const id = callIdFor(call);
  const above = enterRunTree(engine, id, workflow);
  const definition = await definitionFor(engine, parent, branch?.pinnedAs ?? call.role, workflow);
  await admitWorkflow(engine, definition);
  const caller = {
    id: parent.id,
    thread: parent.start.hash,
    state: stateHash(parent),
    role: call.role,
    head: parent.head.id,
    call: storedCall(call, isOwnKey),
  };
  const options = { definition, prompt, ...(branch?.base !== undefined && { base: branch.base }) };
  return start(engine, options, { id, above, parent: caller });
}
