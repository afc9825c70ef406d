import { findBlock } from '../../workflow/definition.ts';
import { failureReason } from '../../thread/thread-state.ts';
import { type AgentRecord, isPerson } from '../../schema/built-in/workflow.ts';
import { prepareRecord } from '../agents/admission.ts';
import { blockRecord } from '../blocks/prepare-block.ts';
import { pinnedSubWorkflow, subWorkflowOf } from '../children/sub-workflow.ts';
import { getBinding } from '../config/config.ts';
import type { EngineContext } from '../engine-context.ts';
import { withThread } from '../leases/with-thread.ts';
import { appendEnd, suspendUnrun } from '../turn/append.ts';
import { describeOver } from '../describe/gather-facts.ts';
import { askedOf, chooseRole, openStep } from '../turn/decide.ts';
import type { ChosenStep } from '../turn/step.ts';
import { storePending } from '../turn.ts';
import { storeResumption } from './resume.ts';

/**
 * Suspends a thread in place of its next turn, for a program that takes turns again by itself: each that was begun ended
 * without a step and without a suspension, and each may have cost something. A turn that this machine keeps is stored instead.
 * Nothing is run.
 * @param losses what became of them
 * @returns the reason; `undefined` if the thread was not suspended
 * @throws {AgentMissing} if this machine has no agent for the role
 */
export async function giveUpTurn(
  engine: EngineContext,
  thread: string,
  losses: readonly string[],
): Promise<string | undefined> {
  return withThread(engine, thread, undefined, async (current, lease) => {
    if (current.end || (await storePending(engine, current))) return undefined;
    // A thread that waited for a child is to be resumed by the turn that is given up.
    const state = current.head.kind === 'suspend' ? await storeResumption(engine, current, {}) : current;
    const step = await openStep(engine, state);
    const choice = await chooseRole(step);
    if (choice.kind !== 'role') {
      await appendEnd(step, choice);
      return undefined;
    }
    const record = await recordOf({ ...step, lease, choice });
    const redaction = engine.redaction();
    const reason = redaction.text(failureReason(choice.role, losses.length, [...new Set(losses)]));
    const recorded = redaction.text(isPerson(record) ? askedOf(step, choice) : (choice.prompt ?? state.prompt));
    const after = await suspendUnrun({ ...step, choice, record, recorded, redaction }, 'agent', reason);
    const over = await describeOver(engine, after);
    if (over !== undefined) engine.tell(over);
    return reason;
  });
}

/** The record of what would take the turn. */
async function recordOf({ engine, state, definition, choice: { role } }: ChosenStep): Promise<AgentRecord> {
  if (findBlock(definition, role) !== undefined) return blockRecord();
  const binding = getBinding(engine.config, definition.name, role);
  const name = subWorkflowOf(binding);
  const pinned = name === undefined ? undefined : await pinnedSubWorkflow(engine, state, role, name);
  return prepareRecord(engine, binding, pinned);
}
