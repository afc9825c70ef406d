import { firstLine } from '../thread/commit-message.ts';
import { findChildren, readStart } from '../thread/find-children.ts';
import type { ThreadPointer } from '../thread/find-thread.ts';
import { parseThreadId, type ThreadId } from '../thread/thread-id.ts';
import { readThread, type ThreadState } from '../thread/thread-state.ts';
import { isOver, statusOfHead } from '../thread/thread-status.ts';
import type { EngineContext } from './context.ts';
import { decideNext } from './decide-next.ts';
import { definitionOf } from './definition-of.ts';
import { writeFacts, type ThreadFacts } from './facts.ts';
import { describeOver } from './over.ts';
import { usageOf } from './sum-usage.ts';

/** Reads a thread from its chain and remembers what it says. */
export async function gatherFacts(context: EngineContext, pointer: ThreadPointer): Promise<ThreadFacts> {
  return rememberFacts(context, await readAsNeeded(context, pointer));
}

/** Of a thread that a light fetch brought, texts are fetched only if it takes them to say who is next. */
async function readAsNeeded(context: EngineContext, { id, head }: ThreadPointer): Promise<ThreadState> {
  const { repository } = context;
  if (repository.objects.prefetch === undefined) return readThread(repository, id, head);
  const state = await readThread(repository, id, head, 'steps');
  const isDecided = state.head.kind === 'end' || state.head.kind === 'suspend';
  if (isDecided || !/text|_body/.test(JSON.stringify((await definitionOf(context, state)).moderator))) return state;
  return readThread(repository, id, head);
}

/**
 * Computes and remembers what a thread's state says.
 * @param nextRole who is next, where that has been decided already; for a suspended thread it is who waits
 */
export async function rememberFacts(
  context: EngineContext,
  state: ThreadState,
  nextRole?: string | null,
): Promise<ThreadFacts> {
  const definition = await definitionOf(context, state);
  const over = await describeOver(context, state);
  const status = statusOfHead(state.head, false);
  const { node, hash } = state.start;
  let next = state.head.kind === 'suspend' ? state.head.node.role : (nextRole ?? null);
  if (nextRole === undefined && over === undefined) {
    const decision = await decideNext(context, state, definition);
    next = decision.kind === 'role' ? decision.role : null;
  }
  const facts: ThreadFacts = {
    head: state.head.id,
    status,
    workflow: definition.name,
    workflowHash: node.workflow,
    prompt: firstLine(state.prompt),
    startedAtMs: node.startedAtMs,
    endedAtMs: state.end?.node.completedAtMs ?? null,
    steps: state.steps.length,
    nextRole: next,
    depth: node.depth,
    parent: await parentOf(context, state),
    startHash: hash,
    startCommit: state.start.id,
    children: isOver(status) ? await childrenOf(context, state) : [],
    reason: over?.text ?? null,
    returnCode: over?.returnCode ?? null,
    ...usageOf(state),
  };
  writeFacts(context.repository, state.id, facts);
  return facts;
}

async function childrenOf(context: EngineContext, state: ThreadState): Promise<ThreadId[]> {
  const { hash, node } = state.start;
  const children = await findChildren(context.repository, hash, node.startedAtMs);
  return children.map((child) => child.pointer.id);
}

/** The caller's own id: that of the start on the chain that the child's start stands on. */
async function parentOf(context: EngineContext, state: ThreadState): Promise<ThreadId | null> {
  const caller = state.start.commit.parents[0];
  if (state.start.node.parentThread === null || caller === undefined) return null;
  const start = await readStart(context.repository, caller);
  return start ? parseThreadId(start.node.id) : null;
}
