import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import type { Decision, DecisionContext } from '../moderator/decision.ts';
import { appendStep } from '../thread/append-step.ts';
import { statusOf } from '../thread/meta-status.ts';
import { firstLine } from '../thread/commit-message.ts';
import { endThread } from '../thread/end-thread.ts';
import { findChildEnd } from '../thread/find-children.ts';
import { LinkTakenBack } from '../thread/thread-errors.ts';
import { forkThread } from '../thread/fork-thread.ts';
import { suspendThread, type SuspensionDraft } from '../thread/suspend-thread.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { EngineContext } from './context.ts';
import { chooseRole, type RoleChoice } from './choose-role.ts';
import { decideNext } from './decide-next.ts';
import { decisionContext } from './decision-context.ts';
import { definitionOf } from './definition-of.ts';
import { UnknownChild } from './engine-errors.ts';
import type { Lease } from './lease.ts';
import { foldPacks } from './fold-packs.ts';
import { prepareTurn } from './prepare-turn.ts';
import { recordWorkspace } from './record-workspace.ts';
import { writeSession } from './sessions.ts';
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
  const choice = await chooseRole(definition, decisions, state, wish.role);
  context.debug(state.id, 'decision', { ...describeChoice(choice), ms: msSince(startedMs) });
  if ('kind' in choice) return finish(context, state, decisions, choice);
  return runChoice(context, lease, state, definition, decisions, { ...choice, agent: wish.agent });
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
  if (after.head.kind !== 'step') return { state: after, stored: undefined, nextRole: null };
  const stored = { role: choice.role, step: after.head.hash };
  const next = await decideNext(context, after, definition);
  if (next.kind === 'role') return { state: after, stored, nextRole: next.role };
  const finished = await finish(
    context,
    after,
    await decisionContext(context.repository, after, definition.name),
    next,
  );
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
  return { state: await endThread(context.repository, state, draft), stored: undefined, nextRole: null };
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
  // The thread keeps a step that is done again until there is another: what waits instead is a future of its own.
  const waits = async (suspension: SuspensionDraft): Promise<ThreadState> => {
    const { again } = choice;
    if (!again) return suspendThread(repository, state, suspension);
    // That future has no other place for the reply that is done again, and for what a person said about it.
    const refused = { text: again.step.text, errors: [`a person said: ${again.word}`], usage: null };
    const attempts = [refused, ...suspension.attempts];
    return suspendThread(repository, await forkState(repository, state), { ...suspension, attempts });
  };
  const prepared = await prepareTurn(context, lease, state, definition, decisions, choice);
  const common = { role: choice.role, rule: choice.rule, prompt: prepared.prompt, agent: prepared.record };
  if (prepared.limitReached !== undefined) {
    const reason = prepared.limitReached;
    return waits({ ...common, cause: 'limit', reason, usage: null, attempts: [] });
  }
  const startedAtMs = repository.now();
  const { role } = choice;
  context.tell({
    event: 'step.started',
    thread: state.id,
    role,
    agent: prepared.record.name,
    number: state.steps.length + 1,
    visit: prepared.turn.request.visit,
  });
  const result = await takeTurn(context, prepared.turn);
  lease.setProcessGroup(null);
  const { attempts, usage, trace, session } = result;
  const remember = ({ id, head }: ThreadState): void => {
    const key = { threadId: id, role, agent: prepared.record.name };
    if (session !== undefined) writeSession(repository, key, { id: session, seen: head.id });
  };
  if (result.kind === 'suspended') {
    const { cause, reason, text, due } = result;
    const waiting = await waits({ ...common, cause, reason, text, due, usage, attempts, trace });
    remember(waiting);
    return waiting;
  }
  const childThreads = await Promise.all(result.childThreads.map((hash) => getChildEnd(context, state, hash)));
  const completedAtMs = repository.now();
  const storingMs = performance.now();
  const { meta, text, agentVersion, stopReason } = result;
  const { snapshot: mode } = definition.roles[role] ?? {};
  const workspace = await recordWorkspace(context, state, { role, cwd: prepared.turn.request.cwd, mode });
  let after: ThreadState;
  try {
    const linked = await prepared.resolve(meta);
    const replaces = choice.again?.step.commit;
    const said = {
      meta,
      text,
      agentVersion,
      stopReason,
      usage,
      attempts,
      trace,
      childThreads,
      linked,
      replaces,
      workspace,
    };
    after = await appendStep(repository, state, { ...common, ...said, startedAtMs, completedAtMs });
  } catch (error) {
    if (!(error instanceof LinkTakenBack)) throw error;
    const reason = error.message;
    const waiting = await waits({ ...common, cause: 'invalid-reply', reason, text, usage, attempts, trace });
    remember(waiting);
    return waiting;
  } finally {
    workspace?.release();
  }
  remember(after);
  context.debug(state.id, 'step stored', { head: after.head.id, ms: msSince(storingMs) });
  context.tell({
    event: 'step.finished',
    thread: state.id,
    role,
    step: after.head.hash,
    number: after.steps.length,
    outcome: statusOf(result.meta),
    head: after.head.id,
    subject: firstLine(result.text),
    durationMs: completedAtMs - startedAtMs,
    usage,
  });
  return after;
}

async function forkState(repository: Repository, state: ThreadState): Promise<ThreadState> {
  const { thread } = await forkThread(repository, { id: state.id, head: state.head.id });
  return { ...state, id: thread };
}

async function getChildEnd(
  context: EngineContext,
  state: ThreadState,
  hash: string,
): Promise<{ hash: NodeHash; commit: ObjectId }> {
  const end = await findChildEnd(context.repository, state.start, hash);
  if (!end) throw new UnknownChild(state.id, hash);
  return end;
}

function describeChoice(choice: RoleChoice | Exclude<Decision, { kind: 'role' }>): JsonObject {
  if (!('kind' in choice)) return { role: choice.role, rule: choice.rule };
  return choice.kind === 'failed' ? { failed: choice.error.message } : { end: choice.returnCode, rule: choice.rule };
}

function msSince(startedMs: number): number {
  return Math.round((performance.now() - startedMs) * 10) / 10;
}
