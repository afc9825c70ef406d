import type { AgentEvent, AgentRequest } from '../../agent/contract.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { orElse } from '../../or-else.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { AttemptDraft } from '../../thread/draft-commit.ts';
import type { TraceDraft } from '../../thread/step-trace.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { Telling } from '../engine-context.ts';
import { DepthExceeded } from '../engine-errors.ts';
import type { AgentTold } from '../events.ts';
import type { Lease } from '../leases/lease.ts';
import {
  type Allowance,
  BudgetExceeded,
  findBudgetExceeded,
  findLimitReached,
  Interrupted,
  type TurnClock,
  withTurn,
} from '../limits/limits.ts';
import type { TurnLog } from '../recovery/turn-log.ts';
import { RedactingEvents, type Redaction } from '../redact/redaction.ts';
import { TraceRecorder } from '../trace/trace-recorder.ts';
import { KeptText } from '../trace/truncated-text.ts';
import { type ArrivedTurn, giveUp, type RefusedTry, sealArrived, type TryReply } from './accept.ts';
import { clearLeftSteps, freeReserved, makeStepFolder, removeStepFolder, writeSession } from './step-folder.ts';
import type { PreparedStep, TakenTurn, TurnEnd } from './step.ts';

/** Tries after the first, where a role does not say how many. */
const DEFAULT_RETRIES = 2;

/** So many processes may end over one reply before a person has to look at it. */
const MAX_TAKEN = 3;

/** The tries of a turn: runs its agent, once for each, and keeps account of what they have said and used. */
export class Tries {
  readonly #step: PreparedStep;
  readonly #log: TurnLog;
  readonly #left: ArrivedTurn | undefined;
  /** Takes secrets out of the replies. */
  readonly redaction: Redaction;
  readonly #listener: TurnListener;
  readonly #attempts: AttemptDraft[];
  #usage: Usage | null;
  /** What the tries of this process have used: limits count the others already. */
  #usedHere: Usage | null = null;
  #session: string | undefined;
  /** The newest reply, and when it arrived. */
  reply: TryReply | undefined;
  #arrivedAtMs = 0;
  #stepDir: string | undefined;

  constructor(step: PreparedStep, log: TurnLog, left: ArrivedTurn | undefined) {
    const { engine, state, request } = step;
    this.#step = step;
    this.#log = log;
    this.#left = left;
    this.redaction = step.redaction.passingPart();
    this.#listener = new TurnListener(
      engine,
      { thread: state.id, role: request.role },
      {
        ...step,
        onUsage: (usage) => log.used(usage),
        onSession: (id) => this.#keepSession(id),
      },
    );
    this.#attempts = [...(left?.turn.refused ?? [])];
    this.#usage = this.#attempts.reduce<Usage | null>((sum, { usage }) => addUsage(sum, usage), null);
    this.#session = left?.arrived.session ?? request.session;
  }

  /** Makes the step's folder, without what killed steps have left. */
  async open(): Promise<void> {
    const { engine, state, role } = this.#step;
    await clearLeftSteps(engine.repository, (each) => each === state.id);
    this.#stepDir = makeStepFolder(engine.repository, state.id, role.schema);
  }

  /** Ends what the agent keeps running. The turn stands, whatever becomes of that. */
  async close(): Promise<void> {
    const { engine, state, agent, clock, calls } = this.#step;
    clock.stop();
    try {
      await withinGrace(Promise.resolve(agent.close?.()));
    } catch (error) {
      engine.debug(state.id, 'agent-not-closed', { reason: messageOf(error) });
    }
    await calls.close();
    if (this.#stepDir !== undefined) removeStepFolder(this.#stepDir);
    freeReserved(engine.repository);
  }

  /** The reply that an earlier process got and did not live to store, once. */
  leftReply(): TryReply | undefined {
    if (this.#left === undefined || this.reply !== undefined) return undefined;
    const { turn, arrived } = this.#left;
    this.#take(arrived.reply, turn.arrivedAtMs ?? 0);
    if (turn.taken >= MAX_TAKEN) throw new Error(`${turn.taken} processes have ended over it`);
    return arrived.reply;
  }

  /** Runs the agent once, and writes its reply down before anything else is done with it. */
  async ask(prompt: string): Promise<TryReply> {
    const attempt = this.#attempts.length;
    const { engine, state, request, calls } = this.#step;
    const listener = this.#listener;
    const session = this.#session;
    listener.startTry(prompt);
    calls.startTry();
    engine.debug(state.id, 'try', { attempt, characters: prompt.length, isSession: session !== undefined });
    const stepDir = this.#stepDir ?? '';
    const env = { ...request.env, UWF_STEP_DIR: stepDir };
    const given = await runAgent(this.#step, listener, { ...request, env, prompt, session, attempt, stepDir });
    // A try that was cut off may have told what it cost before.
    const usage = given.usage ?? listener.used;
    const reply = { ...inWholeCharacters(given), ...(usage && { usage }) };
    this.#take(reply, engine.repository.now());
    this.#usedHere = addUsage(this.#usedHere, usage);
    listener.endTry(usage);
    const named = reply.session ?? listener.session;
    // The agent does not know its session under a redacted name.
    if (named !== undefined && this.redaction.text(named) === named) this.#session = named;
    this.#log.arrived(this.#arrivedAtMs, usage ?? null, () =>
      sealArrived(engine, { reply: this.#withChildren(reply), session: this.#session, trace: this.#trace() }),
    );
    return reply;
  }

  /**
   * Takes a reply that was not accepted to the account.
   * @returns the end of the turn, if the agent is not asked again
   */
  refuse(refusal: RefusedTry, reply: TryReply): TurnEnd | undefined {
    const { engine, state, role, request, allowance } = this.#step;
    const attempt = this.#attempts.length;
    const { errors, text } = refusal.attempt;
    const refused = { ...refusal.attempt, usage: reply.usage ?? null };
    this.#attempts.push(refused);
    const isOver = attempt >= (role.retries ?? DEFAULT_RETRIES) || refusal.isFinal;
    const limit = isOver ? undefined : findLimitReached(withTurn(allowance, this.#usedHere))?.text;
    const place = { thread: state.id, role: request.role };
    engine.tell({ event: 'reply.refused', ...place, attempt, errors, isLast: isOver || limit !== undefined });
    if (isOver) return giveUp(request.role, refusal, attempt + 1);
    if (limit !== undefined) {
      const reason = `${limit}, and no reply was acceptable: ${errors.join('; ')}`;
      return { kind: 'suspended', cause: 'limit', reason, text };
    }
    // What may hold secrets is written nowhere.
    this.#log.refused(this.redaction.failure === undefined ? refused : { ...refused, text: '', errors: [] });
    return undefined;
  }

  /** The turn, with all that its tries have said and used. */
  taken(end: TurnEnd): TakenTurn {
    const attempts = this.#attempts;
    // Its pieces were redacted one by one: a secret across two of them is seen only now.
    const trace = orElse(() => this.#clean(this.#trace()), undefined);
    return {
      result: { ...end, attempts, usage: this.#usage, session: this.#session, trace },
      completedAtMs: this.#arrivedAtMs,
    };
  }

  #take(reply: TryReply, atMs: number): void {
    this.reply = reply;
    this.#arrivedAtMs = atMs;
    this.#usage = addUsage(this.#usage, reply.usage);
  }

  /** Names the children that the try has called: another process does not know them. */
  #withChildren(reply: TryReply): TryReply {
    if (reply.kind !== 'reply') return reply;
    const named = reply.childThreads ?? [];
    const called = this.#step.calls.taken(named).map(({ hash }) => hash);
    return { ...reply, childThreads: [...new Set([...named, ...called])] };
  }

  /** Remembers a session that the agent goes on with if the turn is cut off. What a person said of a step is not for later turns. */
  #keepSession(id: string): void {
    const { engine, state, choice, record } = this.#step;
    if (choice.again !== undefined || this.redaction.text(id) !== id) return;
    const key = { threadId: state.id, role: choice.role, agent: record.name };
    writeSession(engine.repository, key, { id, seen: state.head.id });
  }

  #clean(trace: TraceDraft | undefined): TraceDraft | undefined {
    return trace && this.redaction.value(trace);
  }

  /** How the agent came to its replies, also in the process that left one. */
  #trace(): TraceDraft | undefined {
    const before = this.#left?.arrived.trace;
    const now = this.#listener.trace.finish();
    if (before === undefined || now === undefined) return before ?? now;
    return { turns: [...before.turns, ...now.turns], durationMs: before.durationMs + now.durationMs };
  }
}

/** How long the engine waits for an agent that was told to stop. uwf's own agents end their processes in less. */
const GRACE_MS = 30_000;

/**
 * Runs an agent once.
 * @throws {UwfError} if trying again cannot help, and nothing was paid for; also of kind `conflict`
 */
async function runAgent(
  { engine, state, agent, clock }: PreparedStep,
  listener: TurnListener,
  request: Omit<AgentRequest, 'signal' | 'emit'>,
): Promise<TryReply> {
  const hasPaid = (): boolean => request.attempt > 0 || listener.hasHeardAnswer;
  try {
    const running = agent.run({ ...request, signal: clock.signal, emit: (event) => listener.hear(event) });
    // An agent that goes on after the grace time may still fail; its error is ignored.
    running.catch(() => {});
    const reply = await Promise.race([running, whenAborted(clock.signal).then(() => withinGrace(running))]);
    // An agent that was told to stop may still reply: a clock that ran out has decided nevertheless.
    const isStopped = clock.failure === undefined && clock.ranOut === undefined;
    if (reply && (!clock.signal.aborted || (isStopped && reply.kind === 'reply'))) return reply;
    if (reply && reply.kind !== 'suspend' && listener.said === '') listener.hear({ kind: 'text', text: reply.text });
    if (reply?.usage !== undefined) listener.hear({ kind: 'usage', usage: reply.usage });
    if (reply?.session !== undefined) listener.hear({ kind: 'session', session: reply.session });
  } catch (error) {
    if (error instanceof DepthExceeded) return { kind: 'suspend', cause: 'limit', reason: error.message };
    if (!clock.signal.aborted) return failedAttempt(error, hasPaid(), listener.said);
  }
  const { failure, ranOut } = clock;
  if (failure !== undefined) return finalAttempt(failure, hasPaid(), listener.said);
  if (ranOut === undefined) throw new Interrupted(state.id, engine.signal.reason);
  const cause = ranOut instanceof BudgetExceeded ? 'limit' : 'timeout';
  return { kind: 'suspend', cause, reason: ranOut.message, text: listener.said };
}

/** The same reply in texts that can be stored: as in a trace, half a character that stands alone becomes U+FFFD. */
function inWholeCharacters(reply: TryReply): TryReply {
  const fields = Object.entries(reply).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? Buffer.from(value).toString() : value,
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It has the same fields, and texts stay texts.
  return Object.fromEntries(fields) as TryReply;
}

/** Waits for what an agent was told to end, but not for ever, because it may not listen. */
async function withinGrace<T>(ending: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const grace = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, GRACE_MS, undefined);
  });
  try {
    return await Promise.race([ending, grace]);
  } finally {
    clearTimeout(timer);
  }
}

async function whenAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/**
 * Makes a failed attempt of an error that an agent throws. Where trying again cannot help, the attempt is final if something
 * was paid for, in this try or one before; if nothing was, nothing is stored.
 */
function failedAttempt(error: unknown, hasPaid: boolean, said: string): TryReply {
  if (!(error instanceof UwfError) || error.kind === 'data') {
    return { kind: 'failed-attempt', reason: messageOf(error), text: '' };
  }
  return finalAttempt(error, hasPaid, said);
}

function finalAttempt(error: Error, hasPaid: boolean, said: string): TryReply {
  if (!hasPaid || goesOnByItself(error)) throw error;
  const hint = error instanceof UwfError ? error.hint : undefined;
  const reason = hint === undefined ? error.message : `${error.message}; ${hint}`;
  return { kind: 'failed-attempt', reason, text: said, isFinal: true };
}

/** Tells whether a turn that ended with an error is taken again without a person: it was interrupted, or others go on first. */
export function goesOnByItself(error: unknown): boolean {
  return error instanceof UwfError && (error.kind === 'interrupted' || error.kind === 'conflict');
}

/** A turn, or a question, that is listened to. */
type ListenedTurn = {
  clock: TurnClock;
  /** The budgets that the turn must not exceed while it runs. */
  allowance: Allowance;
  /** Records the process groups that work for the agent; absent where no lease is held. */
  lease: Pick<Lease, 'setProcessGroup'> | undefined;
  /** Takes secrets out of what is heard, before anything is kept of it or told. */
  redaction: Redaction;
  /** Told what the try has used, whenever that changes. */
  onUsage?: (usage: Usage) => void;
  /** Told of the session in which the agent answers. */
  onSession?: (id: string) => void;
};

/** How much of what an agent said is kept for the day its turn is cut off: the newest, in bytes. */
const SAID_BYTES = 256 * 1024;

/** Hears all that an agent reports in a turn: for the clocks, for those who watch, for the trace. */
export class TurnListener {
  readonly trace: TraceRecorder;
  readonly #engine: Telling;
  readonly #place: { thread: ThreadId; role: string };
  readonly #turn: ListenedTurn;
  readonly #redacting: RedactingEvents;
  #said: KeptText = emptyText();
  /** What the tries that are over have used. */
  #used: Usage | null = null;
  /** Whether the agent has said or done anything in any try: what is no sign of life alone. */
  hasHeardAnswer = false;
  /** The session that the agent has put its newest prompt into, where it says so. */
  session: string | undefined;
  /** Whether the agent marks the turns of its model in this try. */
  #marksTurns = false;
  /** Whether a request of the agent may be out whose cost it has not reported. */
  #isAsking = false;
  #toldUsed = '';
  #toldSession: string | undefined;

  constructor(engine: Telling, place: { thread: ThreadId; role: string }, turn: ListenedTurn) {
    this.#engine = engine;
    this.#place = place;
    this.#turn = turn;
    this.#redacting = new RedactingEvents(turn.redaction);
    this.trace = new TraceRecorder(engine.repository.now);
  }

  /** The newest of what the agent has said in this try. */
  get said(): string {
    this.#passOn(this.#redacting.end());
    return this.#said.toString();
  }

  /** What this try has used so far; at least that, if a request is out. `undefined` if the agent has reported nothing. */
  get used(): Usage | undefined {
    const { usage } = this.trace;
    if (!this.#isAsking) return usage;
    return { inputTokens: 0, outputTokens: 0, turns: 0, ...usage, isAtLeast: true };
  }

  startTry(prompt: string): void {
    this.#said = emptyText();
    this.#marksTurns = false;
    this.#isAsking = false;
    this.#toldUsed = '';
    this.trace.startTry(prompt);
  }

  /** The try is over, and has used so much. */
  endTry(usage: Usage | undefined): void {
    this.#passOn(this.#redacting.end());
    this.trace.endTry(usage);
    this.#used = addUsage(this.#used, usage);
  }

  hear(event: AgentEvent): void {
    const { clock } = this.#turn;
    clock.touch();
    this.hasHeardAnswer ||= isAnswer(event);
    const before = amountOf(this.trace.usage);
    this.#passOn(this.#redacting.hear(event));
    this.#noteRequest(event, amountOf(this.trace.usage) !== before);
    if (event.kind === 'session') this.session = event.session;
    this.#tellOwner();
    if (event.kind === 'usage' || event.kind === 'turn-end') this.#checkBudget();
    if (event.kind !== 'process-group') return;
    try {
      this.#turn.lease?.setProcessGroup(event.pgid);
    } catch (error) {
      // No process would find this group after a crash, so the turn ends while the group is known.
      clock.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Follows whether a request is out. An agent that marks no turns is asking from its prompt on, and again when it goes on. */
  #noteRequest({ kind }: AgentEvent, hasReported: boolean): void {
    if (kind === 'turn-start') this.#marksTurns = true;
    if (kind === 'turn-end' || hasReported) this.#isAsking = false;
    else if (kind === 'turn-start' || kind === 'session') this.#isAsking = true;
    else if (!this.#marksTurns && this.trace.usage !== undefined) this.#isAsking ||= isWork(kind);
  }

  #tellOwner(): void {
    const { onUsage, onSession } = this.#turn;
    const { used, session } = this;
    const text = used === undefined ? '' : JSON.stringify(used);
    if (used !== undefined && text !== this.#toldUsed) onUsage?.(used);
    this.#toldUsed = text;
    // One that was not heard may not even have its prompt.
    if (session === undefined || session === this.#toldSession || !this.hasHeardAnswer) return;
    this.#toldSession = session;
    onSession?.(session);
  }

  #passOn(events: readonly AgentEvent[]): void {
    for (const event of events) {
      if (event.kind === 'text') this.#said.add(event.text);
      this.trace.record(event);
      if (event.kind !== 'process-group' && event.kind !== 'session')
        this.#engine.tell({ ...this.#place, ...asTold(event) });
    }
  }

  #checkBudget(): void {
    const usage = addUsage(this.#used, this.trace.usage);
    const exceeded = usage === null ? undefined : findBudgetExceeded(this.#turn.allowance, usage);
    if (exceeded !== undefined) this.#turn.clock.fail(new BudgetExceeded(exceeded));
  }
}

function emptyText(): KeptText {
  return new KeptText({ head: 0, tail: SAID_BYTES });
}

function isAnswer(event: AgentEvent): boolean {
  if (event.kind === 'usage') return event.usage.turns > 0 || (event.usage.costUsd ?? 0) > 0;
  return isWork(event.kind) || event.kind === 'turn-end' || event.kind === 'tool-result';
}

function isWork(kind: AgentEvent['kind']): boolean {
  return ['text', 'thought', 'plan', 'tool-call'].includes(kind);
}

/** What a usage says, for comparing: a sign of life that reports nothing more is no report. */
function amountOf(usage: Usage | undefined): string {
  const { inputTokens = 0, outputTokens = 0, turns = 0, costUsd = 0, isAtLeast = false } = usage ?? {};
  return [inputTokens, outputTokens, turns, costUsd, isAtLeast].join(' ');
}

type Told = AgentTold extends infer T ? (T extends AgentTold ? Omit<T, 'thread' | 'role'> : never) : never;

/** What is told of an agent; the others are for the engine alone. */
type ToldEvent = Exclude<AgentEvent, { kind: 'process-group' | 'session' }>;

const names: Readonly<Record<ToldEvent['kind'], AgentTold['event']>> = {
  'turn-start': 'agent.turn',
  'turn-end': 'agent.turn-ended',
  text: 'agent.text',
  thought: 'agent.thought',
  plan: 'agent.plan',
  'tool-call': 'agent.tool',
  'tool-result': 'agent.result',
  refusal: 'agent.refusal',
  pause: 'agent.pause',
  usage: 'agent.usage',
};

function asTold({ kind, ...facts }: ToldEvent): Told {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Each kind's facts are those of the event of its name.
  return { event: names[kind], ...facts } as Told;
}
