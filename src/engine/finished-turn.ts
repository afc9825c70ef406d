import { setTimeout as sleep } from 'node:timers/promises';
import { UwfError } from '../errors.ts';
import type { Snapshot } from '../git/native/snapshot.ts';
import { errnoOf } from '../git/object-errors.ts';
import { collectRefs } from '../schema/links.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import type { Redacted } from '../schema/built-in/schema-parts.ts';
import { appendStep } from '../thread/append-step.ts';
import { firstLine } from '../thread/commit-message.ts';
import { statusOf } from '../thread/meta-status.ts';
import { resolveLinks } from '../thread/resolve-links.ts';
import { suspendThread, type SuspensionDraft } from '../thread/suspend-thread.ts';
import { LinkTakenBack, ThreadMoved } from '../thread/thread-errors.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import type { RoleChoice } from './choose-role.ts';
import type { EngineContext } from './context.ts';
import { writeSession } from './sessions.ts';
import type { TurnResult } from './turn.ts';

/** A turn that was taken, and is not stored yet. */
export type FinishedTurn = {
  role: string;
  /** The rule that chose the role; null where a person forced it. */
  rule: number | null;
  prompt: string;
  agent: AgentRecord;
  result: TurnResult;
  /** What was taken out of its texts; absent where nothing was. */
  redacted?: Redacted | undefined;
  startedAtMs: number;
  completedAtMs: number;
  /** The step that it takes the place of, and what a person said about that. */
  again?: RoleChoice['again'];
  /** The files that it left; released when they are stored. */
  workspace?: Snapshot | undefined;
};

/** Errors of the file system that may be gone a moment later. */
const passing = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'ENOENT', 'ESTALE', 'EIO']);
/** How long is waited before each new try to store a turn, in ms. */
const PAUSES_MS = [50, 200, 1000];

/**
 * Stores what a turn came to, a step or a suspension, and tells it. Tries again after errors that may pass, as writing twice
 * does no harm.
 *
 * @param state the thread as the turn found it; for one that does a step again, as it was before that step
 * @returns the thread with what was stored; where a step that is done again waits instead, a fork of it
 * @throws {ThreadMoved} if another writer was first; what was stored is kept as a fork
 */
export async function storeTurn(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  turn: FinishedTurn,
): Promise<ThreadState> {
  const startedMs = performance.now();
  const after = await untilStored(context, state, definition, turn);
  turn.workspace?.release();
  const { role, result, startedAtMs, completedAtMs } = turn;
  const { session } = result;
  if (session !== undefined) {
    const key = { threadId: after.id, role, agent: turn.agent.name };
    writeSession(context.repository, key, { id: session, seen: after.head.id });
  }
  if (after.head.kind !== 'step') return after;
  context.debug(state.id, 'step stored', { head: after.head.id, ms: Math.round(performance.now() - startedMs) });
  context.tell({
    event: 'step.finished',
    thread: after.id,
    role,
    step: after.head.hash,
    number: after.steps.length,
    outcome: statusOf(after.head.node.meta),
    head: after.head.id,
    subject: firstLine(result.text ?? ''),
    durationMs: completedAtMs - startedAtMs,
    usage: result.usage,
  });
  return after;
}

async function untilStored(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  turn: FinishedTurn,
): Promise<ThreadState> {
  for (const pauseMs of [...PAUSES_MS, undefined]) {
    try {
      return await tryToStore(context, state, definition, turn);
    } catch (error) {
      if (error instanceof ThreadMoved) turn.workspace?.release();
      if (pauseMs === undefined || !mayPass(error)) throw error;
      context.debug(state.id, 'storing again', { reason: String(error), pauseMs });
      await sleep(pauseMs);
    }
  }
  throw new Error('not reached: the last try gives or throws');
}

/** Tells whether an error comes from the file system, or is one of uwf's about such a one, that may be gone a moment later. */
function mayPass(error: unknown): boolean {
  const errno = error instanceof UwfError ? errnoOf(error.cause) : errnoOf(error);
  return errno !== undefined && passing.has(errno);
}

async function tryToStore(
  context: EngineContext,
  state: ThreadState,
  definition: WorkflowDefinition,
  { result, again, ...turn }: FinishedTurn,
): Promise<ThreadState> {
  const { repository } = context;
  const { attempts, usage, trace, text } = result;
  const common = { ...turn, attempts, usage, trace };
  const waits = (why: Pick<SuspensionDraft, 'cause' | 'reason' | 'due'>): Promise<ThreadState> => {
    const { cause, reason, due } = why;
    const suspension = { ...common, text, cause, reason, due, atMs: turn.completedAtMs };
    if (!again) return suspendThread(repository, state, suspension);
    // The thread keeps a step that is done again until there is another: what waits instead is a future of its own, which
    // has no other place for the reply that is done again, and for what a person said about it.
    const refused = { text: again.step.text, errors: [`a person said: ${again.word}`], usage: null };
    return suspendThread(repository, state, { ...suspension, attempts: [refused, ...attempts], forkAs: again.as });
  };
  if (result.kind === 'suspended') return waits(result);
  const { meta, agentVersion, stopReason, childThreads } = result;
  try {
    const schema = definition.roles[turn.role]?.schema ?? {};
    const linked = await resolveLinks(repository, state, collectRefs(schema, meta));
    const said = { meta, text: result.text, agentVersion, stopReason, childThreads, linked };
    return await appendStep(repository, state, { ...common, ...said, replaces: again?.step.commit });
  } catch (error) {
    if (!(error instanceof LinkTakenBack)) throw error;
    return await waits({ cause: 'invalid-reply', reason: error.message });
  }
}
