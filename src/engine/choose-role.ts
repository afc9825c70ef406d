import type { Decision, DecisionContext } from '../moderator/decision.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { StepEntry, ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { decideTurn } from './decide-turn.ts';

/** Who is to run, and what the rule that said so adds. `rule` is null where a person forced the role. */
export type RoleChoice = {
  role: string;
  rule: number | null;
  prompt: string | undefined;
  location: string | undefined;
  /** The agent of this machine that a person wants for this turn; absent: the one that is configured. */
  agent?: string | undefined;
  /** A person of this machine has just answered what the role asked; an answer that came with the thread is not theirs. */
  isAnswered?: boolean | undefined;
  /** Whether a person wants the turn stored with secrets that may be in it. */
  allowSecrets?: boolean | undefined;
  /** The step that this turn does again, what a person says about it, and the id under which it calls and waits. */
  again?: { step: StepEntry; word: string; as: ThreadId };
};

/** The role to run, or the decision that ends the thread. */
export async function chooseRole(
  context: EngineContext,
  definition: WorkflowDefinition,
  decisions: DecisionContext,
  state: ThreadState,
  forcedRole: string | undefined,
): Promise<RoleChoice | Exclude<Decision, { kind: 'role' }>> {
  // A suspended turn that a person forced goes on with the role it had.
  const paused = state.pauses.findLast((pause) => pause.kind === 'suspend');
  const role = forcedRole ?? (paused?.node.rule === null ? paused.node.role : undefined);
  if (role !== undefined) return { role, rule: null, prompt: undefined, location: undefined };
  const decision = await decideTurn(context, state, definition, decisions);
  if (decision.kind !== 'role') return decision;
  return { role: decision.role, rule: decision.rule, prompt: decision.prompt, location: decision.location };
}
