import type { AgentRequest } from '../../agent/contract.ts';
import { messageOf, UwfError } from '../../errors.ts';
import { orElse } from '../../or-else.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { AttemptDraft } from '../../thread/draft-commit.ts';
import type { TraceDraft } from '../../thread/step-trace.ts';
import { writeSession } from '../agents/sessions.ts';
import { DepthExceeded } from '../engine-errors.ts';
import { findLimitReached, withTurn } from '../limits/limits.ts';
import { BudgetExceeded, Interrupted } from '../limits/turn-clock.ts';
import { type ArrivedTurn, sealArrived } from '../recovery/arrived-reply.ts';
import type { TurnLog } from '../recovery/turn-log.ts';
import type { Redaction } from '../redact/redaction.ts';
import { TurnListener } from '../trace/turn-listener.ts';
import { giveUp, type RefusedTry, type TryReply } from './accept.ts';
import { clearLeftSteps, freeReserved, makeStepFolder, removeStepFolder } from './step-folder.ts';
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

  /**
   * Runs the agent once, and writes its reply down before anything else is done with it.
   * @throws as {@link runAgent}
   */
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
 * @throws {Interrupted} if the engine was told to stop
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
