import { setTimeout as sleep } from 'node:timers/promises';
import { isIsolated, findRole } from '../../workflow/definition.ts';
import { UwfError } from '../../errors.ts';
import { assertThere } from '../../git/repository/assert-there.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { errnoOf } from '../../git/format/object-errors.ts';
import { collectRefs } from '../../schema/links/find-links.ts';
import { appendStep } from '../../thread/append/append-step.ts';
import { endThread } from '../../thread/append/end-thread.ts';
import { suspendThread, type SuspensionDraft } from '../../thread/append/suspend-thread.ts';
import { firstLine } from '../../thread/append/commit-message.ts';
import { readTextAt, statusOf } from '../../thread/thread-commit.ts';
import { resolveLinks } from '../../thread/cas/resolve-links.ts';
import type { ThreadState } from '../../thread/read/thread-state.ts';
import { LinkTakenBack, ThreadMoved } from '../../thread/thread-errors.ts';
import { writeSession } from '../agents/sessions.ts';
import { relinkOwnTree } from '../isolation/work-tree-folder.ts';
import { whyNotApart } from '../isolation/why-not-apart.ts';
import { findHeldTurn, forgetHeldTurn, holdTurn, reasonOfSecrets } from '../recovery/held-turn.ts';
import { keepMeanwhile, keepTurn } from '../recovery/kept-turn.ts';
import { FilesHoldSecrets, recordWorkspace, type TurnFiles } from '../workspace/record-workspace.ts';
import type { ChosenStep, Ending, FinishedTurn, PreparedTurn, Step } from './step.ts';
import { monotonicMs } from '../../monotonic-ms.ts';

/** Errors of the file system that may be gone a moment later. */
const passing = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'ENOENT', 'ESTALE', 'EIO']);
/** How long to wait before each new try to store a turn, in ms. */
const PAUSES_MS = [50, 200, 1000];

/** The thread that a turn is stored in: as the turn found it. */
type Place = Pick<Step, 'engine' | 'state' | 'definition'>;

/** How a turn is stored. */
type StoreOptions = {
  /** Stores files with secrets too. */
  allowSecrets?: boolean | undefined;
  /** A person has seen why the turn was held. */
  isResumed?: boolean;
  /** The files, if they are merged ones and not those of a work tree. */
  merged?: Snapshot | undefined;
};

/**
 * Stores a turn with the files that it left. This machine holds the turn and the thread waits, if its files hold secrets, or if
 * the turn was not kept apart as its role asks.
 * @throws {ReplyNotStored} if it cannot be stored; this machine keeps it
 */
export async function appendTurn(
  step: Place,
  turn: Omit<FinishedTurn, 'workspace'>,
  files: TurnFiles,
  { allowSecrets = false, isResumed = false, merged }: StoreOptions,
): Promise<ThreadState> {
  const { engine, state } = step;
  let workspace = merged;
  try {
    if (isIsolated(files.isolation) || engine.sharesTurns) relinkOwnTree(engine, state.id);
    if (merged === undefined && turn.result.kind === 'done')
      workspace = await recordWorkspace(step, turn.role, files, allowSecrets);
    assertStorable(step, turn);
  } catch (error) {
    if (!(error instanceof FilesHoldSecrets)) throw error;
    return storeHeld(
      step,
      holdTurn(step, turn, files, { cause: 'secret', reason: reasonOfSecrets(turn.role, error.places) }),
    );
  }
  const reason = whyNotApart(step, turn, files, workspace, isResumed);
  if (reason !== undefined) {
    workspace?.release();
    return storeHeld(step, holdTurn(step, turn, files, { cause: 'isolation', reason }));
  }
  const whole = { ...turn, workspace };
  const meanwhile = keepMeanwhile(engine.repository, state, whole);
  try {
    const after = await storeTurn(step, whole);
    meanwhile.forget();
    if (isIsolated(files.isolation) || engine.sharesTurns) {
      const { noteFiles } = await import('../isolation/note-files.ts');
      await noteFiles(engine, state.id, after);
    }
    return after;
  } catch (error) {
    if (error instanceof ThreadMoved) {
      meanwhile.forget();
      throw error;
    }
    meanwhile.stop();
    throw keepTurn(engine, state, whole, error);
  }
}

/** Stores the suspension of a turn that is held. @throws {ReplyNotStored} if it cannot be stored; this machine keeps it */
async function storeHeld(step: Place, held: FinishedTurn): Promise<ThreadState> {
  try {
    return await storeTurn(step, held);
  } catch (error) {
    throw error instanceof ThreadMoved ? error : keepTurn(step.engine, step.state, held, error);
  }
}

/**
 * Checks that the repository has not gone during the turn, before anything is done there that would fail for another reason.
 * @param failure why the turn could not be redacted
 * @throws {ReplyNotStored} which has what the agent has said
 */
export function assertStorable({ engine, state }: Place, turn: FinishedTurn, failure?: Error): void {
  try {
    assertThere(engine.repository);
  } catch (error) {
    throw keepTurn(engine, state, turn, failure ?? error);
  }
}

/** Stores the turn that this machine holds because of its files, once a person has said that it may be stored. */
export async function appendHeldTurn(step: ChosenStep): Promise<ThreadState | undefined> {
  const { engine, state, choice } = step;
  const held = findHeldTurn(step);
  if (held === undefined) return undefined;
  const after = await appendTurn(step, held.turn, held.files, { allowSecrets: choice.allowSecrets, isResumed: true });
  if (after.head.kind === 'step') {
    forgetHeldTurn(engine, state.id);
    engine.tell({ event: 'reply.stored', thread: state.id, role: choice.role, fork: null });
  }
  return after;
}

/** Suspends a thread whose role may not run because of a limit. */
export async function suspendAtLimit(step: PreparedTurn, reason: string): Promise<ThreadState> {
  const { role, rule, again } = step.choice;
  const { prompt } = step.request;
  const used = { attempts: [], usage: null, session: undefined, trace: undefined };
  const result = { kind: 'suspended', cause: 'limit', reason, text: undefined, ...used } as const;
  const atMs = step.engine.repository.now();
  const times = { startedAtMs: atMs, completedAtMs: atMs };
  const { taken: redacted } = step.redaction;
  return storeTurn(step, { role, rule, prompt, agent: step.record, result, redacted, ...times, again });
}

/**
 * Stores the end of a turn, a step or a suspension, and tells it. Tries again after errors that may pass, as writing twice
 * does no harm.
 * @returns the thread with what was stored; where a step that is done again waits instead, a fork of it
 * @throws {ThreadMoved} if another writer was first; what was stored is kept as a fork
 */
export async function storeTurn(step: Place, turn: FinishedTurn): Promise<ThreadState> {
  const { engine, state } = step;
  const { role, result, workspace } = turn;
  const startedMs = monotonicMs();
  const after = await untilStored(step, turn);
  workspace?.release();
  if (result.session !== undefined) {
    const key = { threadId: after.id, role, agent: turn.agent.name };
    writeSession(engine.repository, key, { id: result.session, seen: after.head.id });
  }
  if (after.head.kind !== 'step') return after;
  engine.debug(state.id, 'step stored', { head: after.head.id, ms: Math.round(monotonicMs() - startedMs) });
  engine.tell({
    event: 'step.finished',
    thread: after.id,
    role,
    step: after.head.hash,
    number: after.tally.steps,
    outcome: statusOf(after.head.node.meta),
    head: after.head.id,
    subject: firstLine(result.text ?? ''),
    durationMs: turn.completedAtMs - turn.startedAtMs,
    usage: result.usage,
  });
  return after;
}

async function untilStored(step: Place, turn: FinishedTurn): Promise<ThreadState> {
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
  { engine: { repository }, state, definition }: Place,
  { result, again, workspace, isolation, merge, ...turn }: FinishedTurn,
): Promise<ThreadState> {
  assertThere(repository);
  const { attempts, usage, trace, text } = result;
  const common = { ...turn, attempts, usage, trace, text };
  const suspend = ({ cause, reason, due }: Pick<SuspensionDraft, 'cause' | 'reason' | 'due'>): Promise<ThreadState> => {
    const suspension = { ...common, cause, reason, due, atMs: turn.completedAtMs };
    if (!again) return suspendThread(repository, state, suspension);
    // The thread keeps its step until there is another: the suspension goes into a fork. The first attempt there is the
    // reply that is done again, with what a person said about it.
    const refused = { text: again.step.text, errors: [`a person said: ${again.word}`], usage: null };
    return suspendThread(repository, state, { ...suspension, attempts: [refused, ...attempts], forkAs: again.as });
  };
  if (result.kind === 'suspended') return suspend(result);
  const { meta, agentVersion, stopReason, childThreads } = result;
  try {
    const schema = findRole(definition, turn.role)?.schema ?? {};
    const linked = await resolveLinks(repository, state, collectRefs(schema, meta));
    const reply = { text: result.text, meta, agentVersion, stopReason, childThreads, linked };
    return await appendStep(repository, state, {
      ...common,
      ...reply,
      workspace,
      isolation,
      merge,
      replaces: again?.step.commit,
    });
  } catch (error) {
    if (!(error instanceof LinkTakenBack)) throw error;
    return await suspend({ cause: 'invalid-reply', reason: error.message });
  }
}

/** Ends a thread as its rules decided, or because they failed. */
export async function appendEnd({ engine, state }: Step, ending: Ending): Promise<ThreadState> {
  const { returnCode, text } =
    ending.kind === 'failed'
      ? { returnCode: 1, text: ending.error.message }
      : {
          returnCode: ending.returnCode,
          text: ending.summary ?? (state.last ? await readTextAt(engine.repository, state.last, 'output.md') : ''),
        };
  const redaction = engine.redaction().passingPart();
  const clean = redaction.text(text);
  const summary = redaction.failure === undefined ? clean : 'The summary could not be searched for secrets.';
  const outcome = ending.kind === 'end' && returnCode === 0 ? 'completed' : 'failed';
  return endThread(engine.repository, state, { outcome, returnCode, summary });
}
