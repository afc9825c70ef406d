import { firstLine, lineOfOutput } from '../../thread/commit-message.ts';
import { callingSteps, findStart, readChildEnds } from '../../thread/thread-chain.ts';
import { parseThreadId, type ThreadId, type ThreadPointer } from '../../thread/thread-id.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import { callerCommit, type CommitOf, readState, stateHash, type ThreadState } from '../../thread/thread-state.ts';
import { statusOfHead } from '../../thread/thread-status.ts';
import type { EngineContext } from '../engine-context.ts';
import { findNextRole } from './next-role.ts';
import { branchOf } from '../children/branch-of.ts';
import { workflowNameOf } from './workflow-name.ts';
import { usageOf, type ThreadFacts } from './facts.ts';
import type { ThreadOver } from '../events.ts';

type Place = Pick<ThreadPointer, 'id' | 'head'>;

/** Says what a thread's head, and the commits that it names, tell of it. */
export async function gatherFacts(engine: EngineContext, { id, head }: Place): Promise<ThreadFacts> {
  return factsOf(engine, await readState(engine.repository, id, head));
}

/** The same of a thread whose state is known. */
export async function factsOf(engine: EngineContext, state: ThreadState): Promise<ThreadFacts> {
  const { head, start, tally } = state;
  const over = await describeOver(engine, state);
  const branch = branchOf(start.node.call);
  return {
    head: head.id,
    status: statusOfHead(head),
    workflow: await workflowNameOf(engine.repository, start),
    workflowHash: start.node.workflow,
    prompt: firstLine(state.prompt),
    startedAtMs: start.node.startedAtMs,
    endedAtMs: head.kind === 'end' ? head.node.completedAtMs : null,
    steps: tally.steps,
    nextRole: head.kind === 'suspend' ? head.node.role : await findNextRole(engine, state, state),
    depth: start.node.depth,
    parent: await parentOf(engine, start),
    parentStart: start.node.parentThread,
    caller: start.node.call === undefined ? null : parseThreadId(start.node.call.thread),
    parentState: start.node.parentState,
    ...(branch && { branch }),
    startHash: start.hash,
    startCommit: start.id,
    state: stateHash(state),
    children: await childrenTaken(engine, state),
    reason: over?.text ?? null,
    summary: over !== undefined && head.kind === 'end' ? lineOfOutput(head, over.text) : null,
    cause: head.kind === 'suspend' ? head.node.cause : null,
    returnCode: over?.returnCode ?? null,
    ...usageOf(tally),
  };
}

/** The children whose ends are parents of steps. What a child's end does not say, its start does. */
async function childrenTaken({ repository }: EngineContext, { tally }: ThreadState): Promise<ThreadFacts['children']> {
  const children: ThreadFacts['children'] = [];
  for await (const step of callingSteps(repository, tally)) {
    const ofStep: ThreadFacts['children'] = [];
    for (const end of await readChildEnds(repository, step)) {
      const start = await findStart(repository, end.id);
      if (start?.node.call === undefined) continue;
      const { id, parentRole, parentState, call } = start.node;
      ofStep.push({
        thread: parseThreadId(id),
        status: statusOfHead(end),
        role: parentRole ?? step.node.role,
        key: call.key,
        parentState: parentState ?? step.node.start,
        end: end.hash,
        step: step.hash,
      });
    }
    children.unshift(...ofStep);
  }
  return children;
}

/** The caller's own id: that of the start on the chain that the child's start stands on. */
async function parentOf(engine: EngineContext, called: CommitOf<'start'>): Promise<ThreadId | null> {
  const caller = callerCommit(called);
  if (caller === undefined) return null;
  const start = await findStart(engine.repository, caller);
  return start ? parseThreadId(start.node.id) : null;
}

/** How a thread stands that is over or suspended; `undefined` for one that can go on. */
export async function describeOver(
  engine: EngineContext,
  state: Pick<ThreadState, 'id' | 'head'>,
): Promise<ThreadOver | undefined> {
  const { head } = state;
  const common = { thread: state.id, head: head.id, status: statusOfHead(head) };
  if (head.kind === 'suspend') {
    const { reason, role, cause } = head.node;
    const suspension = head.hash;
    return { event: 'thread.suspended', ...common, returnCode: null, text: reason, role, cause, suspension };
  }
  if (head.kind !== 'end') return undefined;
  const text = await readTextAt(engine.repository, head, 'summary.md');
  const { outcome, returnCode } = head.node;
  return { event: outcome === 'completed' ? 'thread.ended' : `thread.${outcome}`, ...common, returnCode, text };
}
