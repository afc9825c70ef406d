import type { JsonObject } from '../../json.ts';
import { decide, decideAtLimit } from '../../moderator/decide.ts';
import type { Decision, DecisionContext } from '../../moderator/decision.ts';
import type { ThreadState } from '../../thread/read/thread-state.ts';
import type { EngineContext } from '../engine-context.ts';
import { allowanceOf } from '../limits/allowance.ts';
import { findLimitReached } from '../limits/limits.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import { pastSteps } from './past-steps.ts';
import type { Ending, RoleChoice, Step } from './step.ts';
import type { Repository } from '../../git/repository.ts';
import type { WorkflowDefinition } from '../../workflow/definition.ts';

/** Reads what the next decision of a thread depends on. */
export async function openStep(engine: EngineContext, state: ThreadState): Promise<Step> {
  const definition = await definitionOf(engine, state);
  const decisions = decisionContext(engine.repository, state, definition.name);
  return { engine, state, definition, decisions };
}

/** Chooses the role that takes the next turn, or decides that the thread ends. */
export async function chooseRole(step: Step, forcedRole?: string): Promise<RoleChoice | Ending> {
  // A suspended turn that a person forced goes on with the role it had.
  const paused = step.state.pauses.findLast((pause) => pause.kind === 'suspend');
  const role = forcedRole ?? (paused?.node.rule === null ? paused.node.role : undefined);
  if (role !== undefined) return { kind: 'role', role, rule: null, prompt: undefined, location: undefined };
  return atLimit(step, await decide(step.definition.moderator, step.decisions));
}

/**
 * Replaces a decision whose role may not run because of a limit by the decision of a rule for limits (`on: limit`), if one
 * fits and leads to the end or to a role that may run.
 */
export async function atLimit(step: Step, decision: Decision): Promise<Decision> {
  const { moderator } = step.definition;
  if (!moderator.some(({ on }) => on === 'limit')) return decision;
  const isKept = async (next: Decision): Promise<boolean> =>
    next.kind === 'role' && findLimitReached(await allowanceOf(step, next.role)) !== undefined;
  if (!(await isKept(decision))) return decision;
  const instead = await decideAtLimit(moderator, step.decisions);
  return instead === undefined || (await isKept(instead)) ? decision : instead;
}

/** A decision as the journal has it. */
export function journalFacts(choice: RoleChoice | Ending): JsonObject {
  if (choice.kind === 'role') return { role: choice.role, rule: choice.rule };
  return choice.kind === 'failed' ? { failed: choice.error.message } : { end: choice.returnCode, rule: choice.rule };
}

/** Tells whether the texts of steps are read for rules: a partial clone fetches them only if one may look at them. */
export function needsTexts({ objects }: Repository, moderator: WorkflowDefinition['moderator']): boolean {
  return objects.prefetch === undefined || /text|_body/.test(JSON.stringify(moderator));
}

/** What the moderator decides from. Rules read the steps that they can see. */
export function decisionContext(
  repository: Repository,
  state: ThreadState,
  workflow: string,
  hasTexts?: boolean,
): DecisionContext {
  const { id, depth, startedAtMs } = state.start.node;
  return {
    threadId: id,
    start: { prompt: state.prompt, workflow, depth, startedAtMs },
    steps: pastSteps(repository, state, hasTexts),
    // It was taken up again after its end, and no role has finished a step since.
    isResumed: state.pauses[0]?.kind === 'resume',
  };
}
