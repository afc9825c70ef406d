import { readNodeAt } from '../../cas/commit-nodes.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readAnyTree } from '../../git/stores/read.ts';
import { payloadOf } from '../../schema/built-in.ts';
import { firstLine, lineOfOutput, nextOfMessage } from '../../thread/commit-message.ts';
import { callingSteps, fileOf, findStart, type LightStart, readChildEnds } from '../../thread/thread-chain.ts';
import { findNodeAt, readTextAt, type ThreadCommit } from '../../thread/thread-commit.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import { parseThreadId, type ThreadId, type ThreadPointer } from '../../thread/thread-id.ts';
import { callerCommit, type CommitOf, readState, stateHash, type ThreadState } from '../../thread/thread-state.ts';
import { statusOfHead } from '../../thread/thread-status.ts';
import { END } from '../../workflow/definition.ts';
import { branchOf } from '../children/sub-workflow.ts';
import type { Reading } from '../engine-context.ts';
import type { ThreadOver } from '../events.ts';
import { type ThreadFacts, usageOf } from './facts.ts';

type Place = Pick<ThreadPointer, 'id' | 'head'>;

/** Says what a thread's head, and the commits that it names, tell of it. */
export async function gatherFacts(engine: Reading, { id, head }: Place): Promise<ThreadFacts> {
  return factsOf(engine, await readState(engine.repository, id, head));
}

/** The same of a thread whose state is known. */
export async function factsOf(engine: Reading, state: ThreadState): Promise<ThreadFacts> {
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
async function childrenTaken({ repository }: Reading, { tally }: ThreadState): Promise<ThreadFacts['children']> {
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
async function parentOf(engine: Reading, called: CommitOf<'start'>): Promise<ThreadId | null> {
  const caller = callerCommit(called);
  if (caller === undefined) return null;
  const start = await findStart(engine.repository, caller);
  return start ? parseThreadId(start.node.id) : null;
}

/** How a thread stands that is over or suspended; `undefined` for one that can go on. */
export async function describeOver(
  engine: Reading,
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

/** The head of a thread, and the message of its commit. */
type Head = { id: ObjectId; kind: ThreadCommit['kind']; commit: { message: string } };

/**
 * Finds who is next in a thread: its head tells it after a step, else the rules are asked. It is only shown: who takes a turn decides
 * anew.
 * @param known the state of the thread, where it was read
 * @returns null where nobody is, or who waits has the turn
 */
export async function findNextRole(
  engine: Reading,
  { id, head }: { id: ThreadId; head: Head },
  known?: ThreadState,
): Promise<string | null> {
  if (head.kind === 'end' || head.kind === 'suspend') return null;
  const told = head.kind === 'step' ? nextOfMessage(head.commit.message) : undefined;
  if (told !== undefined) return told === END ? null : told;
  // Deciding loads much more than reading does.
  const [{ decide }, { decisionContext }, { definitionOf }] = await Promise.all([
    import('../../moderator/decide.ts'),
    import('../turn/decide.ts'),
    import('../children/sub-workflow.ts'),
  ]);
  const state = known ?? (await readState(engine.repository, id, head.id));
  const { name, moderator } = await definitionOf(engine, state);
  const decision = await decide(moderator, decisionContext(engine.repository, state, name));
  return decision.kind === 'role' ? decision.role : null;
}

/** Names by the trees of definitions: many threads of a list have the same one. */
const names = new WeakMap<Repository, Map<ObjectId, string>>();

/** The name of the workflow that a thread runs, by its start. The rest of the definition is not read. */
export async function workflowNameOf(repository: Repository, start: LightStart | CommitOf<'start'>): Promise<string> {
  const path = 'workflow/workflow.json';
  if ('index' in start) {
    const node = await findNodeAt(repository, start, path);
    if (node === undefined) throw new CorruptThread(start.id, `${path} is not there`);
    return payloadOf(node, 'workflow').name;
  }
  const folder = fileOf(start, 'workflow');
  const known = names.get(repository) ?? new Map<ObjectId, string>();
  names.set(repository, known);
  const name = folder && known.get(folder);
  if (name !== undefined) return name;
  const file = folder && (await readAnyTree(repository.objects, folder)).find((each) => each.name === 'workflow.json');
  if (folder === undefined || file === undefined) throw new CorruptThread(start.id, `${path} is not there`);
  const found = payloadOf(await readNodeAt(repository, { hash: start.node.workflow, oid: file.id }), 'workflow').name;
  known.set(folder, found);
  return found;
}
