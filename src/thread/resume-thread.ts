import type { NodeFile } from '../cas/node-tree.ts';
import { ObjectBatch } from '../git/object-batch.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import type { Redacted } from '../schema/built-in/schema-parts.ts';
import type { MoreLimits } from '../schema/built-in/thread-resume.ts';
import { encodeTyped } from '../schema/built-in.ts';
import { firstLine } from './commit-message.ts';
import { moveThread } from './move-thread.ts';
import { WrongThreadState } from './thread-errors.ts';
import { contentNode, draftCommit, taken } from './thread-draft.ts';
import { newThreadId } from './new-thread-id.ts';
import { activeRef } from './thread-refs.ts';
import { assertTextFits } from '../cas/text-limit.ts';
import { advanceThread, type ThreadState } from './thread-state.ts';
import { statusOfHead } from './thread-status.ts';

/**
 * Writes down that a person lets a suspended thread go on, with an answer or without.
 * @param more how much more than its limits the thread may use
 * @param redacted what was taken out of the answer
 * @returns the thread, to be run on
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
    throw new WrongThreadState(
      state.id,
      statusOfHead(state.head, false),
      'it does not wait for an answer',
      `run 'uwf thread run ${state.id}'`,
    );
  }
  return writeResume(repository, state, { answer, more, redacted }, `${state.head.node.role} goes on`);
}

/**
 * Takes an ended thread up again, as a new thread whose first new commit stands on the last step.
 *
 * The ended thread is not touched. The new one's rules from `__resume__` decide what comes next.
 */
export async function reopenThread(
  repository: Repository,
  ended: ThreadState,
  answer: string | undefined,
  more?: MoreLimits,
  redacted?: Redacted,
): Promise<ThreadState> {
  // What paused the ended thread after its last step is not on the new one's chain.
  const chain = ended.chain.slice(0, ended.chain.findLastIndex(({ kind }) => kind === 'step' || kind === 'start') + 1);
  const reopened = { ...ended, id: newThreadId(repository.now()), chain, pauses: [] };
  return writeResume(repository, reopened, { answer, more, redacted }, `taken up again after ${ended.id}`);
}

/** What a person said, and what was taken out of it. */
type Resumption = {
  answer: string | undefined;
  more: MoreLimits | undefined;
  redacted: Redacted | undefined;
};

async function writeResume(
  repository: Repository,
  state: ThreadState,
  { answer, more, ...said }: Resumption,
  subject: string,
): Promise<ThreadState> {
  const atMs = repository.now();
  if (answer !== undefined) assertTextFits('the answer', answer);
  const content = answer === undefined ? undefined : contentNode(answer);
  const payload: JsonObject = {
    suspension: state.head.hash,
    answer: content?.hash ?? null,
    start: state.start.hash,
    ...(more && { more }),
    ...taken(said),
    resumedAtMs: atMs,
  };
  const files: NodeFile[] = content ? [{ path: 'answer.md', node: content }] : [];
  // A reopened thread stands on the last step; the end it goes on from becomes a second parent, which keeps it alive.
  const last = state.steps.at(-1)?.commit ?? state.start;
  const parents = state.end ? [last.id, state.end.id] : [state.head.id];
  const batch = new ObjectBatch(repository.objects.format);
  const tip = draftCommit(repository, batch, {
    file: 'resume.json',
    node: encodeTyped('thread-resume', payload),
    typeName: 'thread-resume',
    files,
    types: state.types,
    parents,
    author: repository.committer,
    atMs,
    subject: answer === undefined ? subject : `${subject}: ${firstLine(answer)}`,
    body: answer ?? '',
    bodyPath: 'answer.md',
  });
  const edits = [{ name: activeRef(state.id), expected: state.end ? null : state.head.id, value: tip }];
  const moved = await moveThread(repository, state.id, batch, tip, edits, { keep: false });
  return { ...advanceThread(state, moved, ''), end: undefined };
}
