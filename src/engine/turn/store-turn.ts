import { setTimeout as sleep } from 'node:timers/promises';
import { findRole } from '../../workflow/definition.ts';
import { UwfError } from '../../errors.ts';
import { tryTo } from '../../or-else.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import { errnoOf } from '../../git/format/object-errors.ts';
import { collectRefs } from '../../schema/find-links.ts';
import { BLOCK_PACKAGE, isPerson, RULES_PACKAGE } from '../../schema/built-in/workflow.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import { resumeThread, suspendThread, type SuspensionDraft } from '../../thread/suspend-thread.ts';
import { appendStep, type StepDraft } from '../../thread/append-step.ts';
import { lineOfReply } from '../../thread/commit-message.ts';
import { statusOf } from '../../thread/thread-commit.ts';
import { resolveLinks } from '../../thread/thread-scratch.ts';
import { stateCommit, type ThreadState } from '../../thread/thread-state.ts';
import { LinkTakenBack, ThreadMoved } from '../../thread/thread-errors.ts';
import { writeSession } from '../agents/sessions.ts';
import { findOpenTurns, type OpenTurn, TurnLog, usageOfTurn } from '../recovery/turn-log.ts';
import { forgetPendingTurn } from '../recovery/pending-turn.ts';
import { attemptsOf } from '../recovery/arrived-reply.ts';
import type { EngineContext } from '../engine-context.ts';
import { askedOf, forceRole, nextAfter, openStep } from './decide.ts';
import type { FinishedTurn, Step } from './step.ts';
import { monotonicMs } from '../../time/clock.ts';

/** Errors of the file system that may be gone a moment later. */
const passing = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'ENOENT', 'ESTALE', 'EIO']);
/** How long to wait before each new try to store a turn, in ms. */
const PAUSES_MS = [50, 200, 1000];

/** The thread that a turn is stored in: as the turn found it. */
export type TurnPlace = Pick<Step, 'engine' | 'state' | 'definition'>;

/**
 * Stores the end of a turn, a step or a suspension, and tells it. Tries again after errors that may pass, as writing twice
 * does no harm.
 * @returns the thread with what was stored; where a step that is done again waits instead, a fork of it
 * @throws {ThreadMoved} if another writer was first; what was stored is kept as a fork
 */
export async function storeTurn(step: TurnPlace, given: FinishedTurn): Promise<ThreadState> {
  const { engine, state } = step;
  const log = new TurnLog(engine.repository, state.id);
  const turn = await withOpenTurns(engine, state, given);
  const { role, result, workspace } = turn;
  const startedMs = monotonicMs();
  let after: ThreadState;
  try {
    after = await untilStored(step, turn);
  } catch (error) {
    // A fork has it.
    if (error instanceof ThreadMoved && takesOpenTurns(turn)) log.forget();
    throw error;
  }
  if (takesOpenTurns(turn)) log.forget();
  workspace?.release();
  if (result.session !== undefined) {
    const key = { threadId: after.id, role, agent: turn.agent.name };
    writeSession(engine.repository, key, { id: result.session, seen: after.head.id });
  }
  if (after.head.kind !== 'step') return after;
  // One that cannot be removed is void, as the thread has gone on.
  tryTo(() => forgetPendingTurn(engine.repository, state.id));
  engine.debug(state.id, 'step stored', { head: after.head.id, ms: Math.round(monotonicMs() - startedMs) });
  engine.tell({
    event: 'step.finished',
    thread: after.id,
    role,
    step: after.head.hash,
    number: after.tally.steps,
    outcome: statusOf(after.head.node.meta),
    head: after.head.id,
    subject: lineOfReply(result.text ?? '', turn.agent, after.head.node.meta),
    durationMs: turn.completedAtMs - turn.startedAtMs,
    usage: result.usage,
  });
  return after;
}

/** Tells whether what is stored takes in all open turns. Without an agent it has no usage, and a turn that is held stays open. */
function takesOpenTurns({ agent, isHeld }: FinishedTurn): boolean {
  return agent.package !== BLOCK_PACKAGE && agent.package !== RULES_PACKAGE && isHeld !== true;
}

/** Adds to a turn what is not stored yet of turns before it: their refused replies, and what those have used that were cut off. */
async function withOpenTurns(engine: EngineContext, state: ThreadState, turn: FinishedTurn): Promise<FinishedTurn> {
  if (!takesOpenTurns(turn)) return turn;
  const isOwn = ({ role, startedAtMs }: OpenTurn): boolean => role === turn.role && startedAtMs === turn.startedAtMs;
  const left = (await findOpenTurns(engine.repository, state.id)).filter((one) => !isOwn(one));
  if (left.length === 0) return turn;
  const { attempts, usage, ...result } = turn.result;
  const sum = left.reduce<Usage | null>((used, one) => addUsage(used, usageOfTurn(one)), null);
  const all = [...left.flatMap((one) => attemptsOf(engine, one)), ...attempts];
  return { ...turn, result: { ...result, attempts: all, usage: addUsage(sum, usage) } };
}

async function untilStored(step: TurnPlace, turn: FinishedTurn): Promise<ThreadState> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await tryToStore(step, turn);
    } catch (error) {
      if (error instanceof ThreadMoved) turn.workspace?.release();
      const pauseMs = PAUSES_MS[tries];
      const errno = errnoOf(error instanceof UwfError ? error.cause : error);
      if (pauseMs === undefined || errno === undefined || !passing.has(errno)) throw error;
      step.engine.debug(step.state.id, 'storing again', { reason: String(error), pauseMs });
      await sleep(pauseMs);
    }
  }
}

async function tryToStore(
  { engine, state, definition }: TurnPlace,
  { result, again, workspace, isolation, merge, isHeld: _isHeld, ...turn }: FinishedTurn,
): Promise<ThreadState> {
  const { repository } = engine;
  assertThere(repository);
  const { attempts, usage, trace, text } = result;
  const common = { ...turn, attempts, usage, trace, text };
  // The reply that is done again, with what a person said about it.
  const refused = again ? [{ text: again.step.text, errors: [`a person said: ${again.word}`], usage: null }] : [];
  const suspend = ({ cause, reason, due }: Pick<SuspensionDraft, 'cause' | 'reason' | 'due'>): Promise<ThreadState> => {
    const suspension = { ...common, cause, reason, due, atMs: turn.completedAtMs };
    if (!again) return suspendThread(repository, state, suspension);
    // The thread keeps its step until there is another: the suspension goes into a fork.
    return suspendThread(repository, state, { ...suspension, attempts: [...refused, ...attempts], forkAs: again.as });
  };
  if (result.kind === 'suspended') return suspend(result);
  const { meta, agentVersion, stopReason, childThreads, leftUsage } = result;
  try {
    const schema = findRole(definition, turn.role)?.schema ?? {};
    const linked = await resolveLinks(repository, state, collectRefs(schema, meta));
    const reply = { text: result.text, meta, agentVersion, stopReason, childThreads, leftUsage, linked };
    const step: StepDraft = {
      ...common,
      ...reply,
      // The prompt of an agent has the word, too.
      ...(isPerson(turn.agent) && { attempts: [...refused, ...attempts] }),
      workspace,
      isolation,
      merge,
      replaces: again?.step.commit,
    };
    return await appendStep(repository, state, step, (imagined, after) =>
      nextAfter(engine, after, definition, imagined),
    );
  } catch (error) {
    if (!(error instanceof LinkTakenBack)) throw error;
    return await suspend({ cause: 'invalid-reply', reason: error.message });
  }
}

/**
 * Stores what turns that were cut off have used, in a suspension: for a thread that is about to end.
 * @returns the thread, suspended if there was something to store
 */
export async function storeOpenTurns({ engine, state }: Pick<Step, 'engine' | 'state'>): Promise<ThreadState> {
  const { repository } = engine;
  const left = await findOpenTurns(repository, state.id);
  const last = left.findLast((turn) => attemptsOf(engine, turn).length > 0);
  if (last === undefined || state.end) return state;
  const { role, agent } = last;
  const reason = `the turn of ${role} was interrupted, and the thread ends without it`;
  const used = { attempts: [], usage: null, session: undefined, trace: undefined };
  const result = { kind: 'suspended', cause: 'interrupted', reason, text: undefined, ...used } as const;
  const atMs = repository.now();
  const open = state.head.kind === 'suspend' ? await resumeThread(repository, state, undefined) : state;
  const step = await openStep(engine, open);
  const isHere = last.again === undefined && [stateCommit(state), ...state.pauses].some(({ id }) => id === last.head);
  const { rule, prompt } = isHere ? last : await forcedAt(step, last);
  return storeTurn(step, { role, rule, prompt, agent, result, startedAtMs: atMs, completedAtMs: atMs });
}

/** What a turn that began at another place says of its rule and its prompt where it is stored. */
async function forcedAt(step: Step, { role, agent, prompt }: OpenTurn): Promise<Pick<FinishedTurn, 'rule' | 'prompt'>> {
  const choice = await forceRole(step, role);
  return { rule: choice.rule, prompt: isPerson(agent) ? step.engine.redaction().text(askedOf(step, choice)) : prompt };
}
