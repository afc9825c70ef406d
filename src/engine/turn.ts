import { findBlock, isIsolated } from '../workflow/definition.ts';
import { UwfError } from '../errors.ts';
import { repackInBackground } from '../git/maintenance/repack.ts';
import { monotonicMs } from '../time/clock.ts';
import { type ChildThread, findCalledNow } from '../thread/find-children.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { statusOfHead, type ThreadState } from '../thread/thread-state.ts';
import { type ChildEnd, markStoredHere } from './children/turn-calls.ts';
import { describeOver } from './describe/gather-facts.ts';
import { type Deciding, type EngineContext, type Telling, tellTaken } from './engine-context.ts';
import type { ThreadOver } from './events.ts';
import { tellNeighbours } from './isolation/tell-neighbours.ts';
import type { Lease } from './leases/lease.ts';
import { usageOfLeft } from './limits/allowance.ts';
import { Interrupted } from './limits/limits.ts';
import { acceptReply, type ArrivedTurn, askAgain, findArrived, uncheckedReply } from './turn/accept.ts';
import { keepTurn } from './recovery/pending-turn.ts';
import { storePendingTurn } from './recovery/store-pending.ts';
import { type BegunTurn, findOpenTurns, type OpenTurn, TurnLog } from './recovery/turn-log.ts';
import { appendEnd, appendTurn, assertStorable, suspendUnrun } from './turn/append.ts';
import { atLimit, chooseRole, decideAfter, journalFacts, openStep } from './turn/decide.ts';
import { prepareStep } from './turn/prepare.ts';
import type { ChosenStep, PreparedStep, PreparedTurn, StepOutcome, TakenTurn, TurnEnd, TurnWish } from './turn/step.ts';
import { goesOnByItself, Tries } from './turn/tries.ts';
import { filesBefore } from './workspace/record-workspace.ts';

// The loop of uwf. The steps of a thread are taken one after the other, each in five stages, until the thread is over or waits:
//
// - decide which role is next, by the workflow's rules (`turn/decide.ts`)
// - prepare its turn: agent, work tree, limits, prompt (`turn/prepare.ts`)
// - run the agent (`turn/tries.ts`)
// - accept its reply, or ask again (`turn/accept.ts`)
// - append the step with the files that the turn left, or the reason why the thread waits (`turn/append.ts`)
//
// One value grows from stage to stage (`turn/step.ts`). Nothing is remembered between two steps but what is in git. A reply that
// was paid for always has an outcome: what cannot be stored waits on this machine (`recovery/`), and is stored first the next time.

/** Steps a thread whose lease is held until it is over or suspended. */
export async function runUntilOver(
  engine: EngineContext,
  lease: Lease,
  from: ThreadState,
  wish: TurnWish,
): Promise<ThreadOver> {
  const kept = await storePending(engine, from, wish);
  let state = kept?.state ?? from;
  let over = kept ? kept.outcome.over : ((await describeOver(engine, from)) ?? null);
  if (over && kept === undefined) engine.tell(over);
  for (let next: TurnWish | undefined = wish; over === null; next = undefined) {
    if (engine.signal.aborted) throw new Interrupted(state.id, engine.signal.reason);
    const stepped: Stepped = await takeStep(engine, lease, state, next).catch((error: unknown) => {
      // A caller replaces the hint of its child thread.
      if (error instanceof UwfError && error.kind === 'agent')
        error.wayOn = `then 'uwf thread run ${state.id}' goes on`;
      throw error;
    });
    ({ state } = stepped);
    ({ over } = stepped.outcome);
  }
  return over;
}

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
 */
export async function storePending(
  engine: EngineContext,
  state: ThreadState,
  wish: TurnWish = {},
): Promise<Stepped | undefined> {
  const after = await storePendingTurn(engine, state, wish);
  return after && afterTurn(engine, after);
}

/** Prepares and runs the turn of a role, or of a block that stands in its place, and appends what it came to. */
async function takeTurn(step: ChosenStep): Promise<ThreadState> {
  if (findBlock(step.definition, step.choice.role) !== undefined) return takeBlockTurn(step);
  const left = await findArrived(step);
  const prepared = await prepareStep(step, left !== undefined);
  if (prepared.limitReached !== undefined) return suspendUnrun(prepared, 'limit', prepared.limitReached);
  const begun = await beginTurn(prepared, left?.turn);
  prepared.watch?.began();
  const taken = await runUntilAccepted(prepared, begun.log, left);
  const after = await appendTaken(prepared, begun, taken);
  if (after.head.kind === 'step') prepared.watch?.ended(after.head.node.usage);
  return after;
}

async function takeBlockTurn(step: ChosenStep): Promise<ThreadState> {
  const { prepareBlock } = await import('./blocks/prepare-block.ts');
  const { runBlock } = await import('./blocks/run-block.ts');
  const prepared = await prepareBlock(step);
  if (prepared.limitReached !== undefined) return suspendUnrun(prepared, 'limit', prepared.limitReached);
  const begun = await beginTurn(prepared);
  return appendTaken(prepared, begun, await runBlock(prepared));
}

/** Most turns are not isolated, and load nothing for it. */
// oxlint-disable-next-line typescript/explicit-function-return-type -- It is the module.
const observer = () => import('./isolation/observe-others.ts');

/** How a turn began, and the log of what it costs until it is stored. */
type Begun = { turn: BegunTurn; log: TurnLog; isTakenUp: boolean };

/**
 * Notes how a turn begins: the files that it finds, and when it was.
 * @param left the turn as an earlier process began it, if that has its reply
 */
async function beginTurn(step: PreparedTurn, left?: OpenTurn): Promise<Begun> {
  const { engine, lease, state, choice, request, isolation, record: agent } = step;
  const { repository } = engine;
  const { role, rule, again } = choice;
  const log = new TurnLog(repository, state.id);
  const turn = left ?? {
    role,
    rule,
    prompt: step.recorded,
    agent,
    head: again?.step.commit.id ?? state.head.id,
    again: again && { word: again.word, as: again.as },
    files: await filesBefore(engine, state, { cwd: request.cwd, isolation }, step.role.snapshot),
    others: isIsolated(isolation) ? await (await observer()).observeOthers(engine, state.id) : undefined,
    startedAtMs: repository.now(),
  };
  if (left === undefined) {
    // Of turns whose outcomes are stored there may be a log, if their process died just then.
    if ((await findOpenTurns(repository, state.id)).length === 0) log.forget();
    log.begin(turn);
  } else log.taken();
  const place = { thread: state.id, cwd: request.cwd, isolation, agent: turn.agent };
  if (!isIsolated(isolation)) tellNeighbours(engine, lease, place);
  const number = state.tally.steps + 1;
  engine.tell({ event: 'step.started', thread: state.id, role, agent: turn.agent.name, number, visit: request.visit });
  return { turn, log, isTakenUp: left !== undefined };
}

/**
 * Runs the agent of a turn until a reply is accepted, the turn is suspended, or no tries are left.
 *
 * Once a reply has arrived, it was paid for: whatever error comes up then is the reason of a suspension that has the reply.
 * @param left the turn as an earlier process left it: the reply that it got stands for the first try
 * @throws as `runAgent` before a reply has arrived; {@link goesOnByItself} later, and `log` has what was paid for
 */
async function runUntilAccepted(step: PreparedStep, log: TurnLog, left: ArrivedTurn | undefined): Promise<TakenTurn> {
  const tries = new Tries(step, log, left);
  try {
    await tries.open();
    return tries.taken(await askUntilAccepted(step, tries));
  } catch (error) {
    if (tries.reply === undefined || goesOnByItself(error)) throw error;
    return tries.taken(uncheckedReply(tries.reply, error, tries.redaction));
  } finally {
    await tries.close();
  }
}

async function askUntilAccepted(step: PreparedStep, tries: Tries): Promise<TurnEnd> {
  const { request } = step;
  for (let { prompt } = request; ;) {
    const reply = tries.leftReply() ?? (await tries.ask(prompt));
    const accepted = await acceptReply(step, reply, tries.redaction);
    if (accepted.kind !== 'refused') return accepted;
    const end = tries.refuse(accepted, reply);
    if (end !== undefined) return end;
    prompt = askAgain(request.promptWithoutSession, accepted.attempt.errors, reply.session !== undefined);
  }
}

/** Appends what a turn came to: the step, or the reason why the thread waits. */
async function appendTaken(
  step: PreparedTurn,
  { turn: begun, isTakenUp }: Begun,
  taken: TakenTurn,
): Promise<ThreadState> {
  const { engine, lease, state, choice, redaction } = step;
  const { repository } = engine;
  const { role, rule, prompt, agent, files, others, startedAtMs } = begun;
  const { result: came, merged, completedAtMs = repository.now() } = taken;
  const left = came.kind === 'done' ? await findLeft(step, came.childThreads) : [];
  const result = left.length === 0 ? came : { ...came, leftUsage: await usageOfLeft(repository, state, left) };
  lease.setProcessGroup(null);
  tellTaken(engine, { thread: state.id, role }, redaction);
  const { taken: redacted, failure } = redaction;
  const times = { startedAtMs, completedAtMs };
  const { merge } = merged ?? {};
  const finished = { role, rule, prompt, agent, result, redacted, ...times, again: choice.again, merge };
  assertStorable(step, finished, failure);
  const breach = others && (await (await observer()).findBreach(engine, others, { thread: state.id, role }));
  const turn = { ...finished, isolation: breach };
  if (failure !== undefined) throw keepTurn(engine, state, turn, failure);
  const options = { allowSecrets: choice.allowSecrets, merged: merged?.snapshot };
  const after = await appendTurn(step, turn, files, options);
  if (isTakenUp) engine.tell({ event: 'reply.stored', thread: state.id, role, fork: null });
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
async function afterTurn(engine: Deciding & Telling, after: ThreadState): Promise<Stepped> {
  if (after.head.kind !== 'step') return conclude(engine, after);
  const stored = { role: after.head.node.role, step: after.head.hash };
  const step = await openStep(engine, after);
  const next = await atLimit(step, await decideAfter(engine, after, step.definition));
  if (next.kind !== 'role') return conclude(engine, await appendEnd(step, next), stored);
  return conclude(engine, after, { ...stored, nextRole: next.role });
}

/** Says what a step came to, and tells it if it is new. */
async function conclude(
  engine: Telling,
  state: ThreadState,
  { role = null, step = null, nextRole = null, isNew = true }: Partial<StepOutcome> & { isNew?: boolean } = {},
): Promise<Stepped> {
  const { id: thread, head } = state;
  const over = (await describeOver(engine, state)) ?? null;
  if (isNew && over) engine.tell(over);
  const outcome = { thread, status: statusOfHead(head), role, step, head: head.id, nextRole, over };
  return { state, outcome };
}
