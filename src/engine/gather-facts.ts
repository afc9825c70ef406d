import { decide } from '../moderator/decide.ts';
import { firstLine } from '../thread/commit-message.ts';
import { readChildEnds } from '../thread/child-ends.ts';
import { readStart } from '../thread/read-start.ts';
import type { ThreadPointer } from '../thread/find-thread.ts';
import { parseThreadId, type ThreadId } from '../thread/thread-id.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { outlineOf, readOutline, type ThreadOutline } from '../thread/thread-outline.ts';
import { readThread, type CommitOf, type ThreadState } from '../thread/thread-state.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import type { EngineContext } from './context.ts';
import { decisionContext } from './decision-context.ts';
import { definitionOf } from './definition-of.ts';
import { writeFacts, type ThreadFacts } from './facts.ts';
import { describeOver } from './over.ts';
import { usageOf } from './sum-usage.ts';

/**
 * Reads a thread from its chain and remembers what it says. Only of a thread that can go on is read what was said, to say
 * who is next.
 */
export async function gatherFacts(context: EngineContext, pointer: ThreadPointer): Promise<ThreadFacts> {
  const { id, head } = pointer;
  const { kind } = await readThreadCommit(context.repository, head);
  if (kind === 'end' || kind === 'suspend') {
    return factsOf(context, await readOutline(context.repository, id, head), null);
  }
  return rememberFacts(context, await readAsNeeded(context, pointer));
}

/** Of a thread that a light fetch brought, texts are fetched only if it takes them to say who is next. */
async function readAsNeeded(context: EngineContext, { id, head }: ThreadPointer): Promise<ThreadState> {
  const { repository } = context;
  if (repository.objects.prefetch === undefined) return readThread(repository, id, head);
  const state = await readThread(repository, id, head, 'steps');
  if (!/text|_body/.test(JSON.stringify((await definitionOf(context, state)).moderator))) return state;
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
  return factsOf(context, outlineOf(state), nextRole === undefined ? await decideRole(context, state) : nextRole);
}

async function decideRole(context: EngineContext, state: ThreadState): Promise<string | null> {
  if (state.head.kind === 'end' || state.head.kind === 'suspend') return null;
  const { name, moderator } = await definitionOf(context, state);
  const decision = await decide(moderator, await decisionContext(context.repository, state, name));
  return decision.kind === 'role' ? decision.role : null;
}

async function factsOf(context: EngineContext, outline: ThreadOutline, nextRole: string | null): Promise<ThreadFacts> {
  const { id, head, start } = outline;
  const definition = await definitionOf(context, outline);
  const over = await describeOver(context, outline);
  const facts: ThreadFacts = {
    head: head.id,
    status: statusOfHead(head, false),
    workflow: definition.name,
    workflowHash: start.node.workflow,
    prompt: firstLine(outline.prompt),
    startedAtMs: start.node.startedAtMs,
    endedAtMs: head.kind === 'end' ? head.node.completedAtMs : null,
    steps: outline.stepCount,
    nextRole: head.kind === 'suspend' ? head.node.role : nextRole,
    depth: start.node.depth,
    parent: await parentOf(context, start),
    parentStart: start.node.parentThread,
    caller: start.node.call === undefined ? null : parseThreadId(start.node.call.thread),
    parentState: start.node.parentState,
    startHash: start.hash,
    startCommit: start.id,
    state: outline.state,
    children: await childrenTaken(context, outline),
    reason: over?.text ?? null,
    cause: head.kind === 'suspend' ? head.node.cause : null,
    returnCode: over?.returnCode ?? null,
    ...usageOf(outline.turns),
  };
  writeFacts(context.repository, id, facts);
  return facts;
}

/** The children whose ends are parents of steps. What a child's end does not say, its start does. */
async function childrenTaken(
  { repository }: EngineContext,
  { calling }: ThreadOutline,
): Promise<ThreadFacts['children']> {
  const children: ThreadFacts['children'] = [];
  for (const step of calling) {
    for (const end of await readChildEnds(repository, step)) {
      const start = await readStart(repository, end.id);
      if (start === undefined) continue;
      const { id, parentRole, parentState, call } = start.node;
      children.push({
        thread: parseThreadId(id),
        status: statusOfHead(end, false),
        role: parentRole ?? step.node.role,
        key: call?.key ?? null,
        parentState: parentState ?? step.node.start,
        end: end.hash,
        step: step.hash,
      });
    }
  }
  return children;
}

/** The caller's own id: that of the start on the chain that the child's start stands on. */
async function parentOf(context: EngineContext, { commit, node }: CommitOf<'start'>): Promise<ThreadId | null> {
  const caller = commit.parents[0];
  if (node.parentThread === null || caller === undefined) return null;
  const start = await readStart(context.repository, caller);
  return start ? parseThreadId(start.node.id) : null;
}
