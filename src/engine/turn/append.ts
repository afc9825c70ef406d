import { isIsolated } from '../../workflow/definition.ts';
import { UwfError } from '../../errors.ts';
import { assertThere } from '../../git/repository/git-directory.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import { errnoOf } from '../../git/format/object-errors.ts';
import { roleWhileUndecided } from '../../moderator/decision.ts';
import { isStoredHere } from '../children/turn-calls.ts';
import { findCalledSince } from '../../thread/find-children.ts';
import { usageOfLeft } from '../limits/allowance.ts';
import { type AgentRecord, RULES_PACKAGE } from '../../schema/built-in/workflow.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import { endThread } from '../../thread/end-thread.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import type { ThreadState } from '../../thread/thread-state.ts';
import { ThreadMoved } from '../../thread/thread-errors.ts';
import { relinkOwnTree } from '../isolation/work-tree-folder.ts';
import { noteFiles, whyNotApart } from '../isolation/why-not-apart.ts';
import { holdTurn, keepTurn, reasonOfSecrets, ReplyNotStored } from '../recovery/pending-turn.ts';
import { FilesHoldSecrets, recordWorkspace, type TurnFiles } from '../workspace/record-workspace.ts';
import { uncheckedReply } from './accept.ts';
import type { EngineContext } from '../engine-context.ts';
import type { Ending, FinishedTurn, PreparedTurn, RoleChoice, Step } from './step.ts';
import { storeOpenTurns, storeTurn, type TurnPlace } from './store-turn.ts';

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
 *
 * The turn was paid for: whatever error comes up, an outcome with its reply is stored, or this machine keeps the turn.
 * @throws {ReplyNotStored} if nothing can be stored now; this machine keeps the turn
 */
export async function appendTurn(
  step: TurnPlace,
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
  step: TurnPlace,
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
 * @throws {ReplyNotStored} if this machine keeps it
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
function withoutStep(engine: EngineContext, turn: FinishedTurn, error: unknown): FinishedTurn {
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
 * @throws {ReplyNotStored} which has what the agent has said
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
  const used = { attempts: [], usage: null, session: undefined, trace: undefined };
  const result = { kind: 'suspended', cause, reason, text: undefined, ...used } as const;
  const atMs = step.engine.repository.now();
  const times = { startedAtMs: atMs, completedAtMs: atMs };
  const { taken: redacted } = step.redaction;
  return storeTurn(step, { role, rule, prompt, agent: step.record, result, redacted, ...times, again });
}

/** Ends a thread as its rules decided, or because they failed; suspends it where one of them is undecided. */
export async function appendEnd(step: Step, ending: Ending): Promise<ThreadState> {
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
  step: Step,
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
  engine: EngineContext,
  state: ThreadState,
  ending: Exclude<Ending, { kind: 'undecided' }>,
): Promise<string> {
  const text = ending.kind === 'failed' ? ending.error.message : ending.summary;
  if (text === undefined) return state.last ? readTextAt(engine.repository, state.last, 'output.md') : '';
  const redaction = engine.redaction().passingPart();
  const clean = redaction.text(text);
  return redaction.failure === undefined ? clean : 'The summary could not be searched for secrets.';
}
