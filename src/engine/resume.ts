import { findThreadsAt } from '../thread/find-children.ts';
import { reopenThread, resumeThread } from '../thread/resume-thread.ts';
import { WrongThreadState } from '../thread/thread-errors.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import { statusOfHead } from '../thread/thread-status.ts';
import { RESUME } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { definitionOf } from './definition-of.ts';
import type { ThreadOver } from './events.ts';
import { runOn, runThread, type RunOptions } from './run.ts';
import { inSlot } from './slots.ts';
import { readCurrent, withLease } from './with-thread.ts';

export type ResumeOptions = RunOptions & { answer?: string };

/**
 * Lets a suspended thread, or one whose run was cut off, go on and runs it; see `Engine.resume`.
 *
 * When a child that was resumed by itself is over, the parent that waits for it goes on too.
 */
export async function resumeAndRun(
  context: EngineContext,
  thread: string,
  options: ResumeOptions = {},
): Promise<ThreadOver> {
  const current = await readCurrent(context.repository, thread);
  const wish = options.agent === undefined ? {} : { agent: options.agent };
  if (current.end) return reopen(context, current, options.answer, wish);
  const { over, state } = await withLease(context, current.id, options.adoptLease, async (before, lease) => {
    // A run that was cut off waits for nobody: without an answer it simply goes on.
    const isCutOff = before.head.kind !== 'suspend' && options.answer === undefined;
    const resumed = isCutOff ? before : await resumeThread(context.repository, before, options.answer);
    return { state: resumed, over: await inSlot(context, resumed, () => runOn(context, lease, resumed, wish)) };
  });
  if (over.event !== 'thread.suspended') await resumeParent(context, state);
  return over;
}

async function reopen(
  context: EngineContext,
  ended: ThreadState,
  answer: string | undefined,
  wish: RunOptions,
): Promise<ThreadOver> {
  if (ended.end?.node.outcome === 'cancelled') {
    throw new WrongThreadState(
      ended.id,
      'cancelled',
      'a cancelled thread does not go on',
      `run 'uwf thread fork ${ended.id}' to go on from its last step as another thread`,
    );
  }
  const definition = await definitionOf(context, ended);
  if (!definition.moderator.some((rule) => rule.from === RESUME)) {
    throw new WrongThreadState(
      ended.id,
      statusOfHead(ended.head, false),
      `workflow ${definition.name} has no rule from ${RESUME} that says who goes on`,
      `add one to the workflow, or start a new thread with 'uwf run ${definition.name}'`,
    );
  }
  const reopened = await reopenThread(context.repository, ended, answer);
  return runThread(context, reopened.id, wish);
}

/** Goes on with the thread that waits for a child, where there is one. */
async function resumeParent(context: EngineContext, child: ThreadState): Promise<void> {
  const { parentState, parentThread, parentRole } = child.start.node;
  if (parentState === null || parentThread === null) return;
  for (const parent of await findThreadsAt(context.repository, parentThread, parentState)) {
    const { head } = parent;
    if (head.kind !== 'suspend' || head.node.cause !== 'child' || head.node.role !== parentRole) continue;
    await resumeAndRun(context, parent.id);
  }
}
