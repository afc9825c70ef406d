import type { ChildOutcome } from '../agent/contract.ts';
import type { ThreadCall } from '../schema/built-in/thread-start.ts';
import { findThread } from '../thread/find-thread.ts';
import { callIdFor, type CallPlace } from '../thread/new-thread-id.ts';
import { stateHash, type ThreadState } from '../thread/thread-state.ts';
import { CorruptThread } from '../thread/thread-errors.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { admitThreads, admitWorkflow } from './admission.ts';
import type { ChildRequest, ChildResult, EngineContext } from './context.ts';
import { definitionOf, pinnedDefinition } from './definition-of.ts';
import { DepthExceeded, KeyTaken } from './engine-errors.ts';
import { LeaseHeld, takeLease, type Lease } from './lease.ts';
import { combineLimits, DEFAULT_LIMITS } from './limits.ts';
import { describeOver } from './over.ts';
import { pinnedSubWorkflow } from './sub-workflow.ts';
import { runOn } from './run.ts';
import { start } from './start.ts';
import { readCurrent, underLease } from './with-thread.ts';

/**
 * Runs the child thread of a call to its end or its suspension: the one that was started for this call, whichever process
 * did that, else a new one.
 *
 * The child's lease is taken before the child is looked for, so that of two processes with the same call one pays. A new
 * child runs the definition that was pinned when the parent started. One that waits for a person is left as it is.
 * @throws {KeyTaken} if the key of the call led to a child that was called otherwise
 */
export async function runChild(
  context: EngineContext,
  parent: ThreadState,
  request: ChildRequest,
): Promise<ChildResult> {
  const inner: EngineContext = { ...context, signal: AbortSignal.any([context.signal, request.signal]) };
  const id = request.unkeyed ?? callIdFor(request.call);
  let lease: Lease;
  try {
    lease = await takeLease(inner.repository, id);
  } catch (error) {
    if (!(error instanceof LeaseHeld)) throw error;
    // The parent goes on when that process is done and a person resumes the parent.
    return waiting(id, parent, 'another process runs the child thread');
  }
  return underLease(inner, id, lease, async () => {
    const found = (await findThread(inner.repository, id)) && (await readCurrent(inner.repository, id));
    if (found) {
      await assertSameCall(inner, parent, found, request);
      await admitThreads(inner, [found]);
    }
    const child = found ?? (await startChild(inner, parent, request));
    // What it waits for is answered by resuming it, or the parent, which comes to the same.
    if (child.head.kind === 'suspend') return waiting(id, child, child.head.node.reason);
    // One that was over before has told so.
    const over = (child.end && (await describeOver(inner, child))) ?? (await runOn(inner, lease, child));
    if (over.event === 'thread.suspended') {
      return { outcome: { kind: 'suspended', threadId: id, reason: over.text }, head: over.head };
    }
    const head = await readThreadCommit(inner.repository, over.head);
    if (head.kind !== 'end') throw new CorruptThread(over.head, 'a thread that is over ends in no end');
    const { outcome, returnCode } = head.node;
    const ended: ChildOutcome = {
      kind: 'ended',
      endHash: head.hash,
      threadId: id,
      returnCode,
      outcome,
      summary: over.text,
    };
    return { outcome: ended, head: head.id };
  });
}

function waiting(id: ThreadId, { head }: ThreadState, reason: string): ChildResult {
  return { outcome: { kind: 'suspended', threadId: id, reason }, head: head.id };
}

/** Makes sure that a thread of a child's id is that child: an id can be forged, and a key given twice. */
async function assertSameCall(
  context: EngineContext,
  parent: ThreadState,
  child: ThreadState,
  { call, isOwnKey, unkeyed, workflow, prompt }: ChildRequest,
): Promise<void> {
  const { node } = child.start;
  const wanted = unkeyed === undefined ? storedCall(call, isOwnKey) : undefined;
  const isSame =
    node.parentThread === parent.start.hash &&
    node.parentState === stateHash(parent) &&
    node.parentRole === call.role &&
    node.call?.thread === wanted?.thread &&
    node.call?.key === wanted?.key &&
    node.call?.ordinal === wanted?.ordinal &&
    child.prompt === prompt;
  if (!isSame) throw new KeyTaken(call.key, child.id);
  // A key that is not the agent's own names the workflow.
  if (!isOwnKey && unkeyed === undefined) return;
  const { name } = await definitionOf(context, child);
  // Under its name the workflow may have changed since.
  if (name !== (await definitionFor(context, parent, call.role, workflow)).name) throw new KeyTaken(call.key, child.id);
}

function storedCall({ thread, key, ordinal }: CallPlace, isOwnKey: boolean): ThreadCall {
  return { thread, key, ...(!isOwnKey && { ordinal }) };
}

async function definitionFor(
  context: EngineContext,
  parent: ThreadState,
  role: string,
  workflow: string,
): Promise<WorkflowDefinition> {
  const pinned = await pinnedSubWorkflow(context, parent, role, workflow);
  return pinned ? pinnedDefinition(context, parent, pinned) : context.resolveWorkflow(workflow);
}

async function startChild(
  context: EngineContext,
  parent: ThreadState,
  { call, isOwnKey, workflow, prompt }: ChildRequest,
): Promise<ThreadState> {
  const { hash, node } = parent.start;
  const own = await definitionOf(context, parent);
  const limits = combineLimits(context.config.limits, own.limits, node.limits);
  const maxDepth = limits.maxDepth ?? DEFAULT_LIMITS.maxDepth;
  if (node.depth >= maxDepth) throw new DepthExceeded(workflow, maxDepth);
  const definition = await definitionFor(context, parent, call.role, workflow);
  await admitWorkflow(context, definition);
  return start(
    context,
    { definition, prompt, limits: { maxDepth } },
    {
      id: parent.id,
      thread: hash,
      state: stateHash(parent),
      role: call.role,
      head: parent.head.id,
      depth: node.depth + 1,
      call: { id: callIdFor(call), ...storedCall(call, isOwnKey) },
    },
  );
}
