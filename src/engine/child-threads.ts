import type { ChildOutcome } from '../agent/contract.ts';
import { findChildren, isTakenIn } from '../thread/find-children.ts';
import { resumeThread } from '../thread/resume-thread.ts';
import { stateHash, type ThreadState } from '../thread/thread-state.ts';
import { CorruptThread } from '../thread/thread-errors.ts';
import { readThreadCommit, timeOfCommit } from '../thread/thread-commit.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { ChildRequest, EngineContext } from './context.ts';
import { definitionOf, pinnedDefinition } from './definition-of.ts';
import { DepthExceeded } from './engine-errors.ts';
import type { ThreadOver } from './events.ts';
import { LeaseHeld, takeLease } from './lease.ts';
import { combineLimits, DEFAULT_LIMITS } from './limits.ts';
import { pinnedSubWorkflow } from './prepare-agent.ts';
import { runOn } from './run.ts';
import { start } from './start.ts';
import { readCurrent, underLease } from './with-thread.ts';

/**
 * Runs the child thread that a role's turn asks for, to its end or its suspension.
 *
 * A child that was started from this very state by this role is continued, or its end taken, so that a crash does not
 * pay twice. A new one runs the definition that was pinned when the parent started.
 */
export async function runChild(
  context: EngineContext,
  parent: ThreadState,
  request: ChildRequest,
): Promise<ChildOutcome> {
  const inner: EngineContext = { ...context, signal: AbortSignal.any([context.signal, request.signal]) };
  const child = await findChild(inner, parent, request.role);
  const id = child ?? (await startChild(inner, parent, request)).id;
  try {
    return await runToOutcome(inner, parent, id, request.answer);
  } catch (error) {
    if (!(error instanceof LeaseHeld)) throw error;
    // Somebody runs the child by itself. The parent goes on when that is over and somebody resumes it.
    return { kind: 'suspended', threadId: id, reason: error.message };
  }
}

async function findChild(context: EngineContext, parent: ThreadState, role: string): Promise<ThreadId | undefined> {
  const { hash, node } = parent.start;
  const children = await findChildren(context.repository, hash, node.startedAtMs);
  const state = stateHash(parent);
  const called = children.filter(({ start: { node: child } }) => {
    return child.parentState === state && child.parentRole === role;
  });
  for (const { pointer } of called.toReversed()) {
    // What a fork called, or a step that is done again, has been taken in there and is no leftover of a crash.
    const { kind, hash: end } = await readThreadCommit(context.repository, pointer.head);
    if (kind !== 'end' || !(await isTakenIn(context.repository, parent.start, end))) return pointer.id;
  }
  return undefined;
}

async function startChild(context: EngineContext, parent: ThreadState, request: ChildRequest): Promise<ThreadState> {
  const { hash, node } = parent.start;
  const own = await definitionOf(context, parent);
  const limits = combineLimits(context.config.limits, own.limits, node.limits);
  const maxDepth = limits.maxDepth ?? DEFAULT_LIMITS.maxDepth;
  if (node.depth >= maxDepth) throw new DepthExceeded(request.workflow, maxDepth);
  const pinned = await pinnedSubWorkflow(context, parent, request.role, request.workflow);
  const definition = pinned
    ? await pinnedDefinition(context, parent, pinned)
    : await context.resolveWorkflow(request.workflow);
  return start(
    context,
    { definition, prompt: request.prompt, limits: { maxDepth } },
    {
      id: parent.id,
      thread: hash,
      state: stateHash(parent),
      role: request.role,
      head: parent.head.id,
      depth: node.depth + 1,
    },
  );
}

async function runToOutcome(
  context: EngineContext,
  parent: ThreadState,
  id: ThreadId,
  answer: string | undefined,
): Promise<ChildOutcome> {
  const lease = await takeLease(context.repository, id);
  return underLease(context, id, lease, async () => {
    let state = await readCurrent(context.repository, id);
    if (state.head.kind === 'suspend') {
      const { reason } = state.head.node;
      // A crash kept the parent from being suspended as well: it is, before anybody answers.
      if (!isResumedFor(parent, state)) return { kind: 'suspended', threadId: id, reason };
      // Going on with the parent is going on with the child it waits for.
      state = await resumeThread(context.repository, state, answer);
    }
    return outcomeOf(context, await runOn(context, lease, state));
  });
}

/** Tells whether a person let the parent go on for what its child waits for now, and not for something before that. */
function isResumedFor(parent: ThreadState, child: ThreadState): boolean {
  const { head } = parent;
  if (head.kind !== 'resume') return false;
  // What the child did last before it asked. Had it been passed the person's word already, that would be younger.
  const before = child.pauses.at(-2) ?? child.steps.at(-1)?.commit ?? child.start;
  return timeOfCommit(before) <= head.node.resumedAtMs;
}

async function outcomeOf(context: EngineContext, over: ThreadOver): Promise<ChildOutcome> {
  if (over.event === 'thread.suspended') return { kind: 'suspended', threadId: over.thread, reason: over.text };
  const head = await readThreadCommit(context.repository, over.head);
  if (head.kind !== 'end') throw new CorruptThread(over.head, 'a thread that is over ends in no end');
  const { outcome, returnCode } = head.node;
  return { kind: 'ended', endHash: head.hash, threadId: over.thread, returnCode, outcome, summary: over.text };
}
