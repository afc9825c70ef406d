import type { NodeFile } from '../cas/node-tree.ts';
import { encodeNode } from '../cas/node.ts';
import { assertTextFits, cutToFit, MAX_REASON_BYTES } from '../cas/limits.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import { builtIn } from '../schema/built-in.ts';
import type { MoreLimits, Redacted } from '../schema/built-in/schema-parts.ts';
import type { SuspendCause } from '../schema/built-in/thread-start.ts';
import { assertValid } from '../schema/validate.ts';
import { appendCommit } from './append-commit.ts';
import { encodeTurn, type TurnFacts } from './append-step.ts';
import { contentNode, taken } from './draft-commit.ts';
import { newThreadId } from './new-thread-id.ts';
import { WrongThreadState } from './thread-errors.ts';
import { activeRef, type ThreadId } from './thread-id.ts';
import { readState, stateCommit, type ThreadState, totalsOf } from './thread-state.ts';
import { statusOfHead } from './thread-status.ts';

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
 * @throws {ThreadMoved} if another writer was first
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
