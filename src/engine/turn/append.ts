import { setTimeout as sleep } from 'node:timers/promises';
import { UwfError } from '../../errors.ts';
import { errnoOf } from '../../git/format/errors.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { roleWhileUndecided } from '../../moderator/decide.ts';
import { tryTo } from '../../or-else.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import { type AgentRecord, BLOCK_PACKAGE, isPerson, RULES_PACKAGE } from '../../schema/built-in/workflow.ts';
import { collectRefs } from '../../schema/find-links.ts';
import { appendStep, type StepDraft } from '../../thread/append-step.ts';
import { lineOfReply } from '../../thread/commit-message.ts';
import { endThread, resumeThread, suspendThread, type SuspensionDraft } from '../../thread/thread-verbs.ts';
import { findCalledSince } from '../../thread/find-children.ts';
import { readTextAt, statusOf } from '../../thread/thread-commit.ts';
import { LinkTakenBack, ThreadMoved } from '../../thread/thread-errors.ts';
import { resolveLinks } from '../../thread/thread-cas.ts';
import { stateCommit, type ThreadState } from '../../thread/thread-state.ts';
import { monotonicMs } from '../../time/clock.ts';
import { findRole, isIsolated } from '../../workflow/definition.ts';
import { writeSession } from './step-folder.ts';
import { isStoredHere } from '../children/turn-calls.ts';
import type { Machine, Reading, Telling } from '../engine-context.ts';
import { noteFiles, whyNotApart } from '../isolation/why-not-apart.ts';
import { relinkOwnTree } from '../isolation/work-place.ts';
import { usageOfLeft } from '../limits/allowance.ts';
import { attemptsOf, uncheckedReply } from './accept.ts';
import { forgetPendingTurn, holdTurn, keepTurn, reasonOfSecrets, ReplyNotStored } from '../recovery/pending-turn.ts';
import { findOpenTurns, type OpenTurn, TurnLog, usageOfTurn } from '../recovery/turn-log.ts';
import { FilesHoldSecrets, recordWorkspace, type TurnFiles } from '../workspace/record-workspace.ts';
import { askedOf, forceRole, nextAfter, openStep } from './decide.ts';
import { type Ending, type FinishedTurn, type PreparedTurn, type RoleChoice, type Step, UNRUN } from './step.ts';

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
 *
 * The turn was paid for: whatever error comes up, an outcome with its reply is stored, or this machine keeps the turn.
 * @throws {ReplyNotStored} if nothing can be stored now; this machine keeps the turn
 */
export async function appendTurn(
  step: TurnPlace<Machine & Telling>,
  turn: Omit<FinishedTurn, 'workspace'>,
  files: TurnFiles,
  options: StoreOptions,
): Promise<ThreadState> {
  const { engine, state } = step;
  const isOwn = isIsolated(files.isolation) || engine.sharesTurns;
  let whole: FinishedTurn | undefined;
  let after: ThreadState;
  try {
    if (isOwn) relinkOwnTree(engine, state.id);
    whole = await withFiles(step, turn, files, options);
    after = await storeTurn(step, whole);
  } catch (error) {
    if (error instanceof ThreadMoved || error instanceof ReplyNotStored) throw error;
    after = await storeInstead(step, turn, whole, error);
  }
  if (isOwn) await noteFiles(engine, state.id, after);
  return after;
}

/** Records the files that a turn left. @returns the turn with them, or the suspension that stands for a turn that is held */
async function withFiles(
  step: TurnPlace<Machine & Telling>,
  turn: Omit<FinishedTurn, 'workspace'>,
  files: TurnFiles,
  { allowSecrets = false, isResumed = false, merged }: StoreOptions,
): Promise<FinishedTurn> {
  let workspace = merged;
  try {
    if (merged === undefined && turn.result.kind === 'done')
      workspace = await recordWorkspace(step, turn.role, files, allowSecrets);
    assertStorable(step, turn);
  } catch (error) {
    if (!(error instanceof FilesHoldSecrets)) throw error;
    return holdTurn(step, turn, files, { cause: 'secret', reason: reasonOfSecrets(turn.role, error.places) });
  }
  const reason = whyNotApart(step, turn, files, workspace, isResumed);
  if (reason === undefined) return { ...turn, workspace };
  workspace?.release();
  return holdTurn(step, turn, files, { cause: 'isolation', reason });
}

/**
 * Stores a suspension with the reply of a turn that cannot be stored as it is. Where the machine is at fault (a full disk, a
 * lock), the whole turn is kept: it can be stored later.
 * @param whole the turn with its files; `undefined` if they could not be recorded
 */
async function storeInstead(
  step: TurnPlace,
  turn: FinishedTurn,
  whole: FinishedTurn | undefined,
  error: unknown,
): Promise<ThreadState> {
  const { engine, state } = step;
  const suspended = turn.result.kind === 'done' ? withoutStep(engine, turn, error) : turn;
  // Without its files, a turn may not be stored as a step later.
  const kept = whole ?? suspended;
  if (whole && (isOfMachine(error) || whole.result.kind !== 'done')) throw keepTurn(engine, state, kept, error);
  try {
    const after = await storeTurn(step, suspended);
    whole?.workspace?.release();
    return after;
  } catch (second) {
    throw second instanceof ThreadMoved ? second : keepTurn(engine, state, kept, error);
  }
}

/** The turn as a suspension with its reply. */
function withoutStep(engine: Telling, turn: FinishedTurn, error: unknown): FinishedTurn {
  const { attempts, usage, session, trace, ...reply } = turn.result;
  const redaction = engine.redaction().passingPart();
  const end = uncheckedReply(reply, error, redaction, 'could not be stored');
  // The reply was searched for secrets before; the message was not.
  const known = redaction.failure === undefined ? end : uncheckedReply(reply, redaction.failure, redaction);
  return { ...turn, result: { ...known, attempts, usage, session, trace } };
}

/** Tells whether an error is of the machine, or of the moment: what failed can be done later. */
function isOfMachine(error: unknown): boolean {
  if (error instanceof UwfError) return error.kind !== 'data' && error.kind !== 'usage' && error.kind !== 'timeout';
  return errnoOf(error) !== undefined;
}

/**
 * Checks that the repository has not gone during the turn, before anything is done there that would fail for another reason.
 * @param failure why the turn could not be redacted
 */
export function assertStorable({ engine, state }: TurnPlace, turn: FinishedTurn, failure?: Error): void {
  try {
    assertThere(engine.repository);
  } catch (error) {
    throw keepTurn(engine, state, turn, failure ?? error);
  }
}

/** A turn that is not run. */
type UnrunTurn = TurnPlace & Pick<PreparedTurn, 'choice' | 'record' | 'recorded' | 'redaction'>;

/** Suspends a thread whose role may not run. */
export async function suspendUnrun(step: UnrunTurn, cause: SuspendCause, reason: string): Promise<ThreadState> {
  const { role, rule, again } = step.choice;
  const { recorded: prompt } = step;
  const result = { kind: 'suspended', cause, reason, text: undefined, ...UNRUN } as const;
  const atMs = step.engine.repository.now();
  const times = { startedAtMs: atMs, completedAtMs: atMs };
  const { taken: redacted } = step.redaction;
  return storeTurn(step, { role, rule, prompt, agent: step.record, result, redacted, ...times, again });
}

/** Ends a thread as its rules decided, or because they failed; suspends it where one of them is undecided. */
export async function appendEnd(step: Step<Telling>, ending: Ending): Promise<ThreadState> {
  const { engine } = step;
  if (ending.kind === 'undecided') return suspendUndecided(step, ending);
  const state = await storeOpenTurns(step);
  const returnCode = ending.kind === 'failed' ? 1 : ending.returnCode;
  const summary = await summaryOf(engine, state, ending);
  const outcome = ending.kind === 'end' && returnCode === 0 ? 'completed' : 'failed';
  const leftUsage = isStoredHere(state)
    ? undefined
    : await usageOfLeft(engine.repository, state, await findCalledSince(engine.repository, state));
  return endThread(engine.repository, state, { outcome, returnCode, summary, leftUsage });
}

/** What a rule that is undecided is recorded as in the place of an agent: none ran. */
const RULES_RECORD: AgentRecord = { name: 'rules', package: RULES_PACKAGE, version: '1.0.0', config: {} };

/** Suspends a thread whose rules come to no decision here. No turn has begun, and resuming decides again. */
async function suspendUndecided(
  step: Step<Telling>,
  { rule, error }: Extract<Ending, { kind: 'undecided' }>,
): Promise<ThreadState> {
  const { engine, state, definition } = step;
  const role = roleWhileUndecided(definition, rule, state.last?.node.role);
  const choice: RoleChoice = { kind: 'role', role, rule, prompt: undefined, location: undefined };
  const redaction = engine.redaction();
  const [recorded, reason] = [redaction.text(state.prompt), redaction.text(error.message)];
  return suspendUnrun({ ...step, choice, record: RULES_RECORD, recorded, redaction }, 'rule', reason);
}

/** The summary of an end. The text of the last step is stored as it is: another one would not be what the rules say. */
async function summaryOf(
  engine: Telling,
  state: ThreadState,
  ending: Exclude<Ending, { kind: 'undecided' }>,
): Promise<string> {
  const text = ending.kind === 'failed' ? ending.error.message : ending.summary;
  if (text === undefined) return state.last ? readTextAt(engine.repository, state.last, 'output.md') : '';
  const redaction = engine.redaction().passingPart();
  const clean = redaction.text(text);
  return redaction.failure === undefined ? clean : 'The summary could not be searched for secrets.';
}

/** Errors of the file system that may be gone a moment later. */
const passing = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'EBUSY', 'EINTR', 'ENOENT', 'ESTALE', 'EIO']);
/** How long to wait before each new try to store a turn, in ms. */
const PAUSES_MS = [50, 200, 1000];

/** The thread that a turn is stored in: as the turn found it. */
type TurnPlace<Engine extends Reading = Telling> = Pick<Step<Engine>, 'engine' | 'state' | 'definition'>;

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
async function withOpenTurns(engine: Telling, state: ThreadState, turn: FinishedTurn): Promise<FinishedTurn> {
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
export async function storeOpenTurns({ engine, state }: Pick<Step<Telling>, 'engine' | 'state'>): Promise<ThreadState> {
  const { repository } = engine;
  const left = await findOpenTurns(repository, state.id);
  const last = left.findLast((turn) => attemptsOf(engine, turn).length > 0);
  if (last === undefined || state.end) return state;
  const { role, agent } = last;
  const reason = `the turn of ${role} was interrupted, and the thread ends without it`;
  const result = { kind: 'suspended', cause: 'interrupted', reason, text: undefined, ...UNRUN } as const;
  const atMs = repository.now();
  const open = state.head.kind === 'suspend' ? await resumeThread(repository, state, undefined) : state;
  const step = await openStep(engine, open);
  const isHere = last.again === undefined && [stateCommit(state), ...state.pauses].some(({ id }) => id === last.head);
  const { rule, prompt } = isHere ? last : await forcedAt(step, last);
  return storeTurn(step, { role, rule, prompt, agent, result, startedAtMs: atMs, completedAtMs: atMs });
}

/** What a turn that began at another place says of its rule and its prompt where it is stored. */
async function forcedAt(
  step: Step<Telling>,
  { role, agent, prompt }: OpenTurn,
): Promise<Pick<FinishedTurn, 'rule' | 'prompt'>> {
  const choice = await forceRole(step, role);
  return { rule: choice.rule, prompt: isPerson(agent) ? step.engine.redaction().text(askedOf(step, choice)) : prompt };
}
