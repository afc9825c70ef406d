import { encodeNode } from '../../cas/node.ts';
import type { NodeFile } from '../../cas/node-tree.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import type { Redacted } from '../../schema/built-in/schema-parts.ts';
import type { MoreLimits } from '../../schema/built-in/limits.ts';
import { builtIn } from '../../schema/built-in.ts';
import { appendCommit } from './append-commit.ts';
import { WrongThreadState } from '../thread-errors.ts';
import { contentNode, taken } from './draft-commit.ts';
import { newThreadId } from '../new-thread-id.ts';
import { activeRef } from '../thread-refs.ts';
import { assertTextFits } from '../../cas/text-limit.ts';
import { totalsOf } from '../read/tally.ts';
import { readState, stateCommit, type ThreadState } from '../read/thread-state.ts';
import { statusOfHead } from '../read/thread-status.ts';

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
  const reopened = { ...before, id: newThreadId(repository.now()), head: ended.head, end: ended.end };
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
