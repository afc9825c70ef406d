import type { NodeHash } from '../cas/hash.ts';
import type { JsonObject } from '../json.ts';
import { decide } from '../moderator/decide.ts';
import type { Decision, DecisionContext } from '../moderator/decision.ts';
import { endThread } from '../thread/end-thread.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { chooseRole, type RoleChoice } from './choose-role.ts';
import { completeTurn } from './complete-turn.ts';
import { atLimit } from './decide-turn.ts';
import { decisionContext } from './decision-context.ts';
import { definitionOf } from './definition-of.ts';
import { storeTurn } from './finished-turn.ts';
import { foldPacks } from './fold-packs.ts';
import { findHeldTurn, forgetHeldTurn } from './held-turn.ts';
import { keepTurn } from './kept-turn.ts';
import type { Lease } from './lease.ts';
import { prepareTurn } from './prepare-turn.ts';
import { filesBefore } from './record-workspace.ts';
import { storeKeptTurn } from './store-kept-turn.ts';
import { tellTaken } from './tell-taken.ts';
import { markStoredHere } from './turn-calls.ts';
import { takeTurn } from './turn.ts';

/** What one step did to a thread. */
export type StepResult = {
  state: ThreadState;
  /** The step that was stored, if one was. */
  stored: { role: string; step: NodeHash } | undefined;
  /** Who is next, as decided; null when the thread is over or waits. */
  nextRole: string | null;
};

/** What a person wants of a thread's next turn. */
export type TurnWish = {
  /** Run this role, whatever the moderator would say. */
  role?: string;
  /** Let this agent of this machine do it, whatever is configured. */
  agent?: string;
  /** The person who starts this turn has just answered what the last one asked. */
  isAnswered?: boolean;
  /** Store it although there may be secrets in it, or in the files that it left. */
  allowSecrets?: boolean;
};

/**
 * Takes one step of a thread whose lease is held: decides, runs the role's agent, stores what it said, and decides
 * again, so that a thread that is over is ended at once.
 *
 * A thread that is over or suspended is left as it is.
 */
export async function takeStep(
  context: EngineContext,
  lease: Lease,
  state: ThreadState,
  wish: TurnWish = {},
): Promise<StepResult> {
  if (state.end || state.head.kind === 'suspend') return { state, stored: undefined, nextRole: null };
  const definition = await definitionOf(context, state);
  const decisions = await decisionContext(context.repository, state, definition.name);
  const startedMs = performance.now();
  const choice = await chooseRole(context, definition, decisions, state, wish.role);
  context.debug(state.id, 'decision', { ...describeChoice(choice), ms: msSince(startedMs) });
  if ('kind' in choice) return finish(context, state, decisions, choice);
  return runChoice(context, lease, state, definition, decisions, {
    ...choice,
    agent: wish.agent,
    isAnswered: wish.isAnswered,
    allowSecrets: wish.allowSecrets,
  });
}

/** Lets a role take its turn, and decides what comes after it. */
export async function runChoice(
  context: EngineContext,
  lease: Lease,
  state: ThreadState,
  definition: WorkflowDefinition,
  decisions: DecisionContext,
  choice: RoleChoice,
): Promise<StepResult> {
  const folded = foldPacks(context);
  let after: ThreadState;
  try {
    after = await runRole(context, lease, state, definition, decisions, choice);
  } finally {
    await folded();
  }
  return afterTurn(context, after, definition);
}

/**
 * Stores the turn that an earlier command could not store, if this machine keeps one for the thread, and decides what comes
 * after it.
 * @throws {ReplyNotStored} if it cannot be stored now either
 */
export async function storeKept(
  context: EngineContext,
  state: ThreadState,
  allowSecrets?: boolean,
): Promise<StepResult | undefined> {
  const after = await storeKeptTurn(context, state, allowSecrets);
  return after && afterTurn(context, after, await definitionOf(context, after));
}

async function afterTurn(
  context: EngineContext,
  after: ThreadState,
  definition: WorkflowDefinition,
): Promise<StepResult> {
  if (after.head.kind !== 'step') return { state: after, stored: undefined, nextRole: null };
  const stored = { role: after.head.node.role, step: after.head.hash };
  const decisions = await decisionContext(context.repository, after, definition.name);
  const decision = await decide(definition.moderator, decisions);
  const next = await atLimit(context, after, definition, decisions, decision);
  // What is remembered of the thread does not depend on this machine's limits.
  if (next.kind === 'role')
    return { state: after, stored, nextRole: decision.kind === 'role' ? decision.role : next.role };
  const finished = await finish(context, after, decisions, next);
  return { ...finished, stored };
}

async function finish(
  context: EngineContext,
  state: ThreadState,
  decisions: DecisionContext,
  decision: Exclude<Decision, { kind: 'role' }>,
): Promise<StepResult> {
  const draft =
    decision.kind === 'failed'
      ? { outcome: 'failed' as const, returnCode: 1, summary: decision.error.message }
      : {
          outcome: decision.returnCode === 0 ? ('completed' as const) : ('failed' as const),
          returnCode: decision.returnCode,
          summary: decision.summary ?? decisions.steps.at(-1)?.text ?? '',
        };
  const redaction = context.redaction().passingPart();
  const clean = redaction.text(draft.summary);
  const summary = redaction.failure === undefined ? clean : 'The summary could not be searched for secrets.';
  return {
    state: await endThread(context.repository, state, { ...draft, summary }),
    stored: undefined,
    nextRole: null,
  };
}

async function runRole(
  context: EngineContext,
  lease: Lease,
  state: ThreadState,
  definition: WorkflowDefinition,
  decisions: DecisionContext,
  choice: RoleChoice,
): Promise<ThreadState> {
  const { repository } = context;
  const { role, rule, again, allowSecrets } = choice;
  const held = findHeldTurn(context, state, choice);
  if (held !== undefined) {
    const after = await completeTurn(context, state, definition, held.turn, held.files, allowSecrets);
    if (after.head.kind === 'step') {
      forgetHeldTurn(context, state.id);
      context.tell({ event: 'reply.stored', thread: state.id, role, fork: null });
    }
    return after;
  }
  const prepared = await prepareTurn(context, lease, state, definition, decisions, choice);
  const { prompt, record: agent, limitReached } = prepared;
  const { redaction, request } = prepared.turn;
  if (limitReached !== undefined) {
    const result = {
      kind: 'suspended',
      cause: 'limit',
      reason: limitReached,
      text: undefined,
      ...nothingUsed,
    } as const;
    const atMs = repository.now();
    const redacted = redaction.taken;
    const turn = { role, rule, prompt, agent, result, again, redacted, startedAtMs: atMs, completedAtMs: atMs };
    return storeTurn(context, state, definition, turn);
  }
  const files = await filesBefore(context, state, { cwd: request.cwd, mode: definition.roles[role]?.snapshot });
  const startedAtMs = repository.now();
  context.tell({
    event: 'step.started',
    thread: state.id,
    role,
    agent: agent.name,
    number: state.steps.length + 1,
    visit: request.visit,
  });
  const result = await takeTurn(context, prepared.turn);
  lease.setProcessGroup(null);
  const completedAtMs = repository.now();
  tellTaken(context, { thread: state.id, role }, redaction);
  const turn = { role, rule, prompt, agent, result, redacted: redaction.taken, startedAtMs, completedAtMs, again };
  if (redaction.failure !== undefined) throw keepTurn(context, state, turn, redaction.failure);
  const after = await completeTurn(context, state, definition, turn, files, allowSecrets);
  if (result.kind !== 'done' || after.head.kind !== 'step') return after;
  markStoredHere(after);
  for (const left of await prepared.turn.calls.findLeft(result.childThreads)) context.tell(left);
  return after;
}

const nothingUsed = { attempts: [], usage: null, session: undefined, trace: undefined } as const;

function describeChoice(choice: RoleChoice | Exclude<Decision, { kind: 'role' }>): JsonObject {
  if (!('kind' in choice)) return { role: choice.role, rule: choice.rule };
  return choice.kind === 'failed' ? { failed: choice.error.message } : { end: choice.returnCode, rule: choice.rule };
}

function msSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) * 10) / 10;
}
