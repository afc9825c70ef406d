import type { ThreadState } from '../../thread/thread-state.ts';
import { statusOfHead } from '../../thread/thread-status.ts';
import { markStoredHere, type ChildEnd } from '../children/turn-calls.ts';
import { type ChildThread, findCalledNow } from '../../thread/find-children.ts';
import { describeOver } from '../describe/gather-facts.ts';
import { tellTaken, type EngineContext } from '../engine-context.ts';
import type { Lease } from '../leases/lease.ts';
import { repackInBackground } from '../../git/maintenance/repack.ts';
import { tellNeighbours } from '../isolation/tell-neighbours.ts';
import { storePendingTurn } from '../recovery/store-pending.ts';
import { findArrived, type ArrivedTurn } from '../recovery/arrived-reply.ts';
import { keepTurn } from '../recovery/pending-turn.ts';
import { findOpenTurns, TurnLog } from '../recovery/turn-log.ts';
import { usageOfLeft } from '../limits/allowance.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { filesBefore } from '../workspace/record-workspace.ts';
import { appendEnd, appendTurn, assertStorable, suspendUnrun } from './append.ts';
import { atLimit, chooseRole, decideAfter, journalFacts, openStep } from './decide.ts';
import { prepareStep } from './prepare.ts';
import { runUntilAccepted } from './run-until-accepted.ts';
import type { ChosenStep, PreparedTurn, StepOutcome, TakenTurn, TurnWish } from './step.ts';
import { isIsolated, findBlock } from '../../workflow/definition.ts';
import { monotonicMs } from '../../monotonic-ms.ts';

/** Repacking a few dozen small packs takes a tenth of a second. A step waits no longer than this for larger ones. */
const MAX_REPACK_WAIT_MS = 2_000;

/** What a step came to, and the thread as it is now. */
export type Stepped = { state: ThreadState; outcome: StepOutcome };

/**
 * Takes one step of a thread whose lease is held: decides, prepares and runs the role's agent, accepts its reply, appends
 * the step, and decides again, so that a thread that is over is ended at once.
 *
 * A thread that is over or suspended is left as it is.
 */
export async function takeStep(
  engine: EngineContext,
  lease: Lease,
  state: ThreadState,
  { role, ...wish }: TurnWish = {},
): Promise<Stepped> {
  if (state.end || state.head.kind === 'suspend') return conclude(engine, state, { isNew: false });
  const step = await openStep(engine, state);
  const startedMs = monotonicMs();
  const choice = await chooseRole(step, role);
  const ms = Math.round((monotonicMs() - startedMs) * 10) / 10;
  engine.debug(state.id, 'decision', { ...journalFacts(choice), ms });
  if (choice.kind !== 'role') return conclude(engine, await appendEnd(step, choice));
  return takeChosenStep({ ...step, lease, choice: { ...choice, ...wish } });
}

/** Lets the role that was chosen take its turn, and decides what comes after it. Meanwhile git repacks small packs. */
export async function takeChosenStep(step: ChosenStep): Promise<Stepped> {
  const { config, env, repository } = step.engine;
  const repacking = config.foldPacks === false ? undefined : repackInBackground(repository, env);
  let after: ThreadState;
  try {
    after = await takeTurn(step);
  } finally {
    // The repository is at rest when a step is done.
    await repacking?.settled(MAX_REPACK_WAIT_MS);
  }
  return afterTurn(step.engine, after);
}

/**
 * Stores the turn that an earlier command has left pending, if there is one, and decides what comes after it; see
 * {@link storePendingTurn}.
 * @throws {ReplyNotStored} if it cannot be stored now either
 */
export async function storePending(
  engine: EngineContext,
  state: ThreadState,
  wish: TurnWish = {},
): Promise<Stepped | undefined> {
  const after = await storePendingTurn(engine, state, wish);
  return after && afterTurn(engine, after);
}

/** Prepares and runs the turn of a role, or of a block that stands in its place. */
async function takeTurn(step: ChosenStep): Promise<ThreadState> {
  if (findBlock(step.definition, step.choice.role) === undefined) {
    const left = await findArrived(step);
    const prepared = await prepareStep(step, left !== undefined);
    const take = (log: TurnLog): Promise<TakenTurn> => {
      prepared.watch?.began();
      return runUntilAccepted(prepared, log, left);
    };
    const after = await storeAfter(prepared, take, left);
    if (after.head.kind === 'step') prepared.watch?.ended(after.head.node.usage);
    return after;
  }
  const [{ prepareBlock }, { runBlock }] = await Promise.all([
    import('../blocks/prepare-block.ts'),
    import('../blocks/run-block.ts'),
  ]);
  const prepared = await prepareBlock(step);
  return storeAfter(prepared, () => runBlock(prepared));
}

/**
 * Takes a turn and stores the step, or the reason why the thread waits.
 * @param arrived the turn as an earlier process began it, if that has its reply
 */
async function storeAfter(
  step: PreparedTurn,
  take: (log: TurnLog) => Promise<TakenTurn>,
  arrived?: ArrivedTurn,
): Promise<ThreadState> {
  const { engine, lease, state, choice, request, redaction } = step;
  const { role, again } = choice;
  const { repository } = engine;
  if (step.limitReached !== undefined) return suspendUnrun(step, 'limit', step.limitReached);
  const { isolation } = step;
  // Most turns are not isolated, and load nothing for it.
  const observer = isIsolated(isolation) ? await import('../isolation/observe-others.ts') : undefined;
  const log = new TurnLog(repository, state.id);
  const begun = arrived?.turn ?? {
    role,
    rule: choice.rule,
    prompt: step.recorded,
    agent: step.record,
    head: again?.step.commit.id ?? state.head.id,
    again: again && { word: again.word, as: again.as },
    files: await filesBefore(engine, state, { cwd: request.cwd, isolation }, step.role.snapshot),
    others: await observer?.observeOthers(engine, state.id),
    startedAtMs: repository.now(),
  };
  if (arrived === undefined) {
    // Of turns whose outcomes are stored there may be a log, if their process died just then.
    if ((await findOpenTurns(repository, state.id)).length === 0) log.forget();
    log.begin(begun);
  } else log.taken();
  const { rule, prompt, agent, files, others, startedAtMs } = begun;
  const { visit } = request;
  if (!isIsolated(isolation)) tellNeighbours(engine, lease, { thread: state.id, cwd: request.cwd, isolation, agent });
  const number = state.tally.steps + 1;
  engine.tell({ event: 'step.started', thread: state.id, role, agent: agent.name, number, visit });
  const { result: came, merged, completedAtMs = repository.now() } = await take(log);
  const left = came.kind === 'done' ? await findLeft(step, came.childThreads) : [];
  const result = left.length === 0 ? came : { ...came, leftUsage: await usageOfLeft(repository, state, left) };
  lease.setProcessGroup(null);
  tellTaken(engine, { thread: state.id, role }, redaction);
  const { taken: redacted, failure } = redaction;
  const times = { startedAtMs, completedAtMs };
  const { merge } = merged ?? {};
  const taken = { role, rule, prompt, agent, result, redacted, ...times, again, merge };
  assertStorable(step, taken, failure);
  const breach = others && (await observer?.findBreach(engine, others, { thread: state.id, role }));
  const turn = { ...taken, isolation: breach };
  if (failure !== undefined) throw keepTurn(engine, state, turn, failure);
  const options = { allowSecrets: choice.allowSecrets, merged: merged?.snapshot };
  const after = await appendTurn(step, turn, files, options);
  if (arrived !== undefined) engine.tell({ event: 'reply.stored', thread: state.id, role, fork: null });
  if (result.kind !== 'done' || after.head.kind !== 'step') return after;
  markStoredHere(after);
  for (const { pointer } of left) {
    const status = statusOfHead(await readThreadCommit(repository, pointer.head));
    engine.tell({ event: 'child.left', thread: state.id, child: pointer.id, status });
  }
  return after;
}

/** The children that a step leaves behind: of its own turn, and of one that was cut off after the step that it takes the place of. */
async function findLeft(
  { engine, state, choice, calls }: PreparedTurn,
  taken: readonly ChildEnd[],
): Promise<ChildThread[]> {
  const left = await calls.findLeft(taken);
  if (choice.again === undefined) return left;
  const after = { ...state, last: choice.again.step.commit };
  return [...left, ...(await findCalledNow(engine.repository, after, state.id))];
}

/** Decides what comes after a turn; a thread that is over is ended. */
async function afterTurn(engine: EngineContext, after: ThreadState): Promise<Stepped> {
  if (after.head.kind !== 'step') return conclude(engine, after);
  const stored = { role: after.head.node.role, step: after.head.hash };
  const step = await openStep(engine, after);
  const next = await atLimit(step, await decideAfter(engine, after, step.definition));
  if (next.kind !== 'role') return conclude(engine, await appendEnd(step, next), stored);
  return conclude(engine, after, { ...stored, nextRole: next.role });
}

/** Says what a step came to, and tells it if it is new. */
async function conclude(
  engine: EngineContext,
  state: ThreadState,
  { role = null, step = null, nextRole = null, isNew = true }: Partial<StepOutcome> & { isNew?: boolean } = {},
): Promise<Stepped> {
  const { id: thread, head } = state;
  const over = (await describeOver(engine, state)) ?? null;
  if (isNew && over) engine.tell(over);
  const outcome = { thread, status: statusOfHead(head), role, step, head: head.id, nextRole, over };
  return { state, outcome };
}
