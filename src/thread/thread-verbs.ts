import type { NodeHash } from '../cas/hash.ts';
import { assertTextFits, cutToFit, MAX_REASON_BYTES } from '../cas/canonical.ts';
import type { NodeFile } from '../cas/node-tree.ts';
import { encodeNode } from '../cas/node.ts';
import { pathName } from '../cas/path-name.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { RefMoved, type Repository } from '../git/repository.ts';
import { type ObjectBatch, publish } from '../git/stores/publish.ts';
import type { JsonObject } from '../json.ts';
import { inPlaceOf } from '../or-else.ts';
import { builtIn, encodeBuiltIns } from '../schema/built-in.ts';
import type { Limits, MoreLimits, Redacted, UsageByRole } from '../schema/built-in/schema-parts.ts';
import { FORMAT, type Outcome, type SuspendCause, type ThreadCall } from '../schema/built-in/thread-start.ts';
import type { AgentRecord } from '../schema/built-in/workflow.ts';
import { assertValid } from '../schema/validate.ts';
import { appendCommit, encodeTurn, type TurnFacts } from './append-step.ts';
import type { Beside } from './commit-message.ts';
import { agentNode, contentNode, draftCommit, taken } from './draft-commit.ts';
import { newThreadId } from './new-thread-id.ts';
import { readAgent } from './step-view.ts';
import { readChain } from './thread-chain.ts';
import { readTextAt } from './thread-commit.ts';
import { WrongThreadState } from './thread-errors.ts';
import { activeRef, historyRef, type ThreadId, type ThreadPointer } from './thread-id.ts';
import { readState, stateCommit, statusOfHead, type ThreadState, totalsOf } from './thread-state.ts';

/** A definition whose tree is in the batch of the start. */
export type PinnedWorkflow = { name: string; hash: NodeHash; tree: ObjectId };

/** The caller of a child thread. */
export type ThreadParent = {
  /** The caller's start node. */
  thread: NodeHash;
  /** The caller's last step at the moment of the call, or its start. */
  state: NodeHash;
  /** The caller's role that asked for the child. */
  role: string;
  /** The caller's head commit at that moment: the parent of the child's start. */
  head: ObjectId;
  call: ThreadCall;
};

export type StartRequest = {
  /** Default: a new one. */
  id?: ThreadId | undefined;
  /** How many threads lie above it; default: none. */
  depth?: number | undefined;
  workflow: PinnedWorkflow;
  prompt: string;
  /** The agents of the roles on this machine, as a record: nothing is decided from it later. */
  agents: Readonly<Record<string, AgentRecord>>;
  /** Definitions of sub-workflows, by the role that calls them. */
  children?: Readonly<Record<string, PinnedWorkflow>>;
  limits?: Limits | undefined;
  parent?: ThreadParent | undefined;
  /** The commit that the thread's own work tree is made from. */
  base?: ObjectId | undefined;
  /** What was redacted in the prompt. */
  redacted?: Redacted | undefined;
};

/**
 * Starts a thread: writes its first commit and its ref. The commit contains everything the thread needs later: the
 * definition, the definitions of its sub-workflows, and the schemas of all built-in types.
 * @param batch contains the workflow trees of the request
 */
export async function startThread(
  repository: Repository,
  batch: ObjectBatch,
  request: StartRequest,
): Promise<ThreadState> {
  assertTextFits('the prompt', request.prompt);
  const startedAtMs = repository.now();
  const { id = newThreadId(repository, startedAtMs), depth = 0 } = request;
  const prompt = contentNode(request.prompt);
  const agents = Object.entries(request.agents).map(([role, agent]) => ({ role, node: agentNode(agent) }));
  const payload: JsonObject = {
    format: FORMAT,
    id,
    workflow: request.workflow.hash,
    prompt: prompt.hash,
    agents: Object.fromEntries(agents.map(({ role, node }) => [role, node.hash])),
    depth,
    ...(request.limits && { limits: request.limits }),
    parentThread: request.parent?.thread ?? null,
    parentState: request.parent?.state ?? null,
    parentRole: request.parent?.role ?? null,
    ...(request.parent && { call: request.parent.call }),
    ...(request.base && { base: request.base }),
    ...taken(request),
    startedAtMs,
  };
  const node = encodeNode(builtIn['thread-start'], payload);
  const files: NodeFile[] = [
    { path: 'prompt.md', node: prompt },
    ...agents.map((agent) => ({ path: `agents/${pathName(agent.role)}.json`, node: agent.node })),
    ...encodeBuiltIns().map((type) => ({ path: `types/${type.hash}.json`, node: type })),
  ];
  const children = Object.entries(request.children ?? {});
  const commit = draftCommit(repository, batch, {
    kind: 'start',
    node,
    files,
    subtrees: [
      { path: 'workflow', id: request.workflow.tree },
      ...children.map(([role, child]) => ({ path: `children/${pathName(role)}`, id: child.tree })),
    ],
    parents: [request.parent?.head, request.base].filter((id) => id !== undefined),
    before: undefined,
    atMs: startedAtMs,
    beside: { text: request.prompt, workflow: request.workflow.name },
  });
  const tip = batch.addCommit(commit);
  await publish(repository, batch, [{ name: activeRef(id), expected: null, value: tip }]);
  return readState(repository, id, tip);
}

/** A turn that ended without a step, and why. */
export type SuspensionDraft = TurnFacts & {
  reason: string;
  cause: SuspendCause;
  /** What the agent said before; absent if nothing. */
  text?: string | undefined;
  /** When the turn can be taken again, in ms since 1970; absent if that does not depend on the time. */
  due?: number | undefined;
  /** When the turn was over, in ms since 1970; default: now. */
  atMs?: number;
  /** The id of a fork that is suspended instead of the thread. */
  forkAs?: ThreadId;
};

/**
 * Suspends a thread.
 * @returns the thread, suspended
 * @throws {ThreadMoved} if another writer was first; a fork keeps the suspension if the turn cost something
 */
export async function suspendThread(
  repository: Repository,
  state: ThreadState,
  draft: SuspensionDraft,
): Promise<ThreadState> {
  const atMs = draft.atMs ?? repository.now();
  const { fields, files, agent } = encodeTurn(draft);
  const text = cutToFit(draft.text ?? '');
  const content = text === '' ? undefined : contentNode(text);
  const payload: JsonObject = {
    ...fields,
    totals: totalsOf(state.tally),
    reason: cutToFit(draft.reason, MAX_REASON_BYTES),
    cause: draft.cause,
    start: state.start.hash,
    previous: state.last?.hash ?? null,
    content: content?.hash ?? null,
    ...(draft.due !== undefined && { due: draft.due }),
    suspendedAtMs: atMs,
  };
  const node = encodeNode(builtIn['thread-suspend'], payload);
  await assertValid(node.type, payload);
  files.push({ path: 'agent.json', node: agent });
  if (content) files.push({ path: 'output.md', node: content });
  const commit = {
    kind: 'suspend' as const,
    node,
    files,
    parents: [state.head.id],
    atMs,
    beside: { text, agent: draft.agent },
  };
  const id = draft.forkAs ?? state.id;
  const keep = content !== undefined || draft.trace !== undefined || draft.usage !== null || draft.attempts.length > 0;
  const move = { ref: activeRef(id), expected: draft.forkAs ? null : state.head.id, keep };
  return appendCommit(repository, { ...state, id }, commit, move);
}

/**
 * Resumes a suspended thread, with a person's answer or without.
 * @param more by how much the thread may exceed its limits
 * @param redacted what was redacted in the answer
 * @throws {WrongThreadState} if it is not suspended
 */
export async function resumeThread(
  repository: Repository,
  state: ThreadState,
  answer: string | undefined,
  more?: MoreLimits,
  redacted?: Redacted,
): Promise<ThreadState> {
  if (state.head.kind !== 'suspend') {
    const hint = `run 'uwf thread run ${state.id}'`;
    throw new WrongThreadState(state.id, statusOfHead(state.head), 'it does not wait for an answer', hint);
  }
  return writeResume(repository, state, { answer, more, redacted });
}

/**
 * Resumes an ended thread, as a new thread that continues from the last step. The ended thread is not changed. Rules from
 * `__resume__` decide what comes next.
 */
export async function reopenThread(
  repository: Repository,
  ended: ThreadState,
  answer: string | undefined,
  more?: MoreLimits,
  redacted?: Redacted,
): Promise<ThreadState> {
  // Suspensions after the last step are not part of the new thread.
  const before = await readState(repository, ended.id, stateCommit(ended).id);
  const reopened = { ...before, id: newThreadId(repository), head: ended.head, end: ended.end };
  return writeResume(repository, reopened, { answer, more, redacted });
}

/** A person's answer, and what was redacted in it. */
type Resumption = {
  answer: string | undefined;
  more: MoreLimits | undefined;
  redacted: Redacted | undefined;
};

async function writeResume(
  repository: Repository,
  state: ThreadState,
  { answer, more, ...said }: Resumption,
): Promise<ThreadState> {
  const atMs = repository.now();
  if (answer !== undefined) assertTextFits('the answer', answer);
  const content = answer === undefined ? undefined : contentNode(answer);
  const payload: JsonObject = {
    totals: totalsOf(state.tally),
    suspension: state.head.hash,
    answer: content?.hash ?? null,
    start: state.start.hash,
    ...(more && { more }),
    ...taken(said),
    resumedAtMs: atMs,
  };
  const files: NodeFile[] = content ? [{ path: 'answer.md', node: content }] : [];
  // A resumed thread continues from the last step. The end is a second parent, so that it stays reachable.
  const parents = state.end ? [stateCommit(state).id, state.end.id] : [state.head.id];
  const commit = {
    kind: 'resume' as const,
    node: encodeNode(builtIn['thread-resume'], payload),
    files,
    parents,
    atMs,
    beside: { text: answer ?? '' },
  };
  const move = { ref: activeRef(state.id), expected: state.end ? null : state.head.id, keep: false };
  return { ...(await appendCommit(repository, state, commit, move)), end: undefined };
}

/** How a thread ends. `returnCode`: 0 if completed, 130 if cancelled, 1 or the rule's own if failed. */
type EndDraft = {
  outcome: Outcome;
  returnCode: number;
  summary: string;
  /** What the children have used of the turn that it cut off, by the roles that called them. */
  leftUsage?: UsageByRole | undefined;
};

/**
 * Ends a thread: writes its last commit, creates its history ref and deletes the active one. A thread with both refs counts
 * as ended.
 * @throws {ThreadMoved} if another writer was first; the thread has then not ended
 */
export async function endThread(repository: Repository, state: ThreadState, draft: EndDraft): Promise<ThreadState> {
  const atMs = repository.now();
  const summary = contentNode(draft.summary);
  const payload: JsonObject = {
    totals: totalsOf(state.tally),
    outcome: draft.outcome,
    returnCode: draft.returnCode,
    summary: summary.hash,
    start: state.start.hash,
    lastStep: state.last?.hash ?? null,
    ...(draft.leftUsage && { leftUsage: draft.leftUsage }),
    completedAtMs: atMs,
  };
  const node = encodeNode(builtIn['thread-end'], payload);
  await assertValid(node.type, payload);
  const commit = {
    kind: 'end' as const,
    node,
    files: [{ path: 'summary.md', node: summary }],
    parents: [state.head.id],
    atMs,
    beside: {
      text: draft.summary,
      last: await findSummedUp(repository, state, draft.summary),
    },
  };
  return appendCommit(repository, state, commit, {
    ref: historyRef(state.id, atMs),
    expected: null,
    others: [{ name: activeRef(state.id), expected: state.head.id, value: null }],
    keep: false,
  });
}

/** The last step of a thread, if its text is the summary. */
async function findSummedUp(
  repository: Repository,
  { start, last }: ThreadState,
  summary: string,
): Promise<Beside['last']> {
  if (last === undefined || (await readTextAt(repository, last, 'output.md')) !== summary) return undefined;
  return { agent: await readAgent(repository, start, last), meta: last.node.meta };
}

/**
 * Finishes an ending that a crash interrupted: deletes the active ref of a thread that has a history ref. Does nothing for a
 * thread with one ref.
 *
 * If the active ref is no ancestor of the end (another client appended to it, or pushed it back), a fork keeps it first.
 */
export async function foldEnded(repository: Repository, ended: ThreadPointer): Promise<void> {
  if (!ended.isHistory) return;
  const ref = activeRef(ended.id);
  const active = await repository.refs.read(ref);
  if (active === undefined) return;
  // Loaded only now, because this is rare.
  const [{ readChain }, { keepAsFork }] = await Promise.all([import('./thread-chain.ts'), import('./append-step.ts')]);
  let isBehind = false;
  for await (const { id } of readChain(repository, ended.head)) {
    isBehind = id === active;
    if (isBehind) break;
  }
  if (!isBehind) await keepAsFork(repository, ended.id, active);
  // If the ref has moved, another process did the same, or wrote to the ref. The next command deals with that.
  await repository.refs.update([{ name: ref, expected: active, value: null }]).catch(inPlaceOf(RefMoved, undefined));
}

type Forkable = Pick<ThreadPointer, 'id' | 'head'>;

/** A thread that shares the beginning of another. */
type Fork = {
  thread: ThreadId;
  /** The commit that both share, from which the fork continues. */
  head: ObjectId;
  forkedFrom: ThreadId;
};

/**
 * Forks a thread: gives one of its commits a second ref, under a new id. Writes no object and does not change the thread.
 *
 * The fork has the same start, and so the same id in it: its rules decide like the thread's. Artifacts that no step has
 * taken in and the sessions of agents stay with the thread.
 * @param at a start, step, suspension or resumption of the thread; default: its head, or the last step of one that ended
 * @throws {WrongThreadState} if `at` is the thread's end, or no commit of it
 */
export async function forkThread(repository: Repository, thread: Forkable, at?: ObjectId): Promise<Fork> {
  const head = await findForkPoint(repository, thread, at);
  const id = newThreadId(repository);
  await repository.refs.update([{ name: activeRef(id), expected: null, value: head }]);
  return { thread: id, head, forkedFrom: thread.id };
}

async function findForkPoint(repository: Repository, thread: Forkable, at?: ObjectId): Promise<ObjectId> {
  let hasEnded = false;
  for await (const { id, kind } of readChain(repository, thread.head)) {
    if (kind === 'end') {
      hasEnded = true;
      if (id === at) break;
    } else if (at !== undefined) {
      if (id === at) return id;
    } else if (!hasEnded || kind === 'step' || kind === 'start') return id;
  }
  const what = `a fork cannot go on from ${at ?? 'its end'}`;
  const hint = `name one of its steps; 'uwf step list ${thread.id}' lists them`;
  throw new WrongThreadState(thread.id, hasEnded ? 'over' : 'somewhere else', what, hint);
}
