import { reopenThread, resumeThread } from '../../thread/suspend-thread.ts';
import { statusOfHead } from '../../thread/thread-status.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import type { MoreLimits } from '../../schema/built-in/schema-parts.ts';
import { ThreadMoved, WrongThreadState } from '../../thread/thread-errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { RESUME } from '../../workflow/definition.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { tellTaken, type EngineContext } from '../engine-context.ts';
import type { RunOptions } from './run.ts';

export type ResumeOptions = RunOptions & {
  answer?: string | undefined;
  /** How much more than its limits the thread may use. */
  more?: MoreLimits | undefined;
  /** The commit at which its question was read: a thread that has gone on since is not resumed. */
  seen?: ObjectId | undefined;
  /** When the answer was given, in ms since 1970: it is none to a question that was asked between then and now. */
  givenAtMs?: number | undefined;
};

/** What a person says to a thread that waits, or has ended. */
export type AnswerOptions = Pick<ResumeOptions, 'answer' | 'more' | 'seen' | 'givenAtMs'>;

/**
 * Stores the resumption of a suspended thread, and runs nothing. One whose run was cut off goes on without, unless it is answered.
 * @throws {ThreadMoved} if the thread is not as it was seen
 */
export async function storeResumption(
  engine: EngineContext,
  before: ThreadState,
  { answer, more, ...given }: AnswerOptions,
): Promise<ThreadState> {
  assertAsSeen(engine, before, given);
  const isCutOff = before.head.kind !== 'suspend' && answer === undefined && more === undefined;
  const redaction = engine.redaction();
  const said = answer && redaction.text(answer);
  const resumed = isCutOff ? before : await resumeThread(engine.repository, before, said, more, redaction.taken);
  tellTaken(engine, { thread: before.id, role: null }, redaction);
  return resumed;
}

/** Takes an ended thread up as a new one, and runs nothing. */
export async function storeReopened(
  engine: EngineContext,
  ended: ThreadState,
  { answer, more, ...given }: AnswerOptions,
): Promise<ThreadState> {
  assertAsSeen(engine, ended, given);
  await assertCanReopen(engine, ended);
  const redaction = engine.redaction();
  const said = answer && redaction.text(answer);
  const reopened = await reopenThread(engine.repository, ended, said, more, redaction.taken);
  tellTaken(engine, { thread: reopened.id, role: null }, redaction);
  return reopened;
}

/**
 * Refuses an answer to a thread that is not as it was seen.
 * @throws {ThreadMoved}
 */
export function assertAsSeen(
  { repository }: Pick<EngineContext, 'repository'>,
  { id, head }: ThreadState,
  { seen, givenAtMs = Infinity }: Pick<AnswerOptions, 'seen' | 'givenAtMs'>,
): void {
  const sinceMs =
    head.kind === 'suspend' ? head.node.suspendedAtMs : head.kind === 'end' ? head.node.completedAtMs : -Infinity;
  // What is later than now has the time of another machine, which says nothing.
  const isUnread = sinceMs > givenAtMs && sinceMs <= repository.now();
  if (isUnread || (seen !== undefined && seen !== head.id)) throw new ThreadMoved(id, undefined, head.id);
}

/** @throws {WrongThreadState} if nothing says how the thread goes on after its end */
export async function assertCanReopen(engine: EngineContext, ended: ThreadState): Promise<void> {
  if (ended.end?.node.outcome === 'cancelled') {
    const hint = `run 'uwf thread fork ${ended.id}' to go on from its last step as another thread`;
    throw new WrongThreadState(ended.id, 'cancelled', 'a cancelled thread does not go on', hint);
  }
  const definition = await definitionOf(engine, ended);
  if (!definition.moderator.some((rule) => rule.from === RESUME)) {
    const what = `workflow ${definition.name} has no rule from ${RESUME} that says who goes on`;
    const hint = `add one to the workflow, or start a new thread with 'uwf run ${definition.name}'`;
    throw new WrongThreadState(ended.id, statusOfHead(ended.head), what, hint);
  }
}
