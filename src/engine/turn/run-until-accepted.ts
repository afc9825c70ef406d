import { messageOf } from '../../errors.ts';
import { orElse } from '../../or-else.ts';
import { addUsage, type Usage } from '../../schema/built-in/schema-parts.ts';
import type { AttemptDraft } from '../../thread/draft-commit.ts';
import type { TraceDraft } from '../../thread/step-trace.ts';
import { writeSession } from '../agents/sessions.ts';
import { findLimitReached, withTurn } from '../limits/limits.ts';
import { sealArrived, type ArrivedTurn } from '../recovery/arrived-reply.ts';
import type { TurnLog } from '../recovery/turn-log.ts';
import type { Redaction } from '../redact/redaction.ts';
import { TurnListener } from '../trace/turn-listener.ts';
import {
  acceptReply,
  askAgain,
  giveUp,
  goesOnByItself,
  inWholeCharacters,
  runAgent,
  type TryReply,
  uncheckedReply,
  withinGrace,
} from './accept.ts';
import { clearLeftSteps, freeReserved, makeStepFolder, removeStepFolder } from './step-folder.ts';
import type { PreparedStep, TakenTurn, TurnEnd } from './step.ts';

/** Tries after the first, where a role does not say how many. */
const DEFAULT_RETRIES = 2;

/** So many processes may end over one reply before a person has to look at it. */
const MAX_TAKEN = 3;

/**
 * Runs the agent of a turn until a reply is accepted, the turn is suspended, or no tries are left.
 *
 * Once a reply has arrived, it was paid for: whatever error comes up then is the reason of a suspension that has the reply.
 * @param left the turn as an earlier process left it: the reply that it got stands for the first try
 * @throws as `runAgent` before a reply has arrived; {@link goesOnByItself} later, and `log` has what was paid for
 */
export async function runUntilAccepted(step: PreparedStep, log: TurnLog, left?: ArrivedTurn): Promise<TakenTurn> {
  return new Tries(step, log, left).toEnd();
}

class Tries {
  readonly #step: PreparedStep;
  readonly #log: TurnLog;
  readonly #left: ArrivedTurn | undefined;
  readonly #redaction: Redaction;
  readonly #listener: TurnListener;
  readonly #attempts: AttemptDraft[];
  #usage: Usage | null;
  /** What the tries of this process have used: limits count the others already. */
  #usedHere: Usage | null = null;
  #session: string | undefined;
  /** The newest reply, and when it arrived. */
  #reply: TryReply | undefined;
  #arrivedAtMs = 0;
  #stepDir: string | undefined;

  constructor(step: PreparedStep, log: TurnLog, left: ArrivedTurn | undefined) {
    const { engine, state, request } = step;
    this.#step = step;
    this.#log = log;
    this.#left = left;
    this.#redaction = step.redaction.passingPart();
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

  async toEnd(): Promise<TakenTurn> {
    const { engine, state, role, agent, clock, calls } = this.#step;
    try {
      await clearLeftSteps(engine.repository, (each) => each === state.id);
      this.#stepDir = makeStepFolder(engine.repository, state.id, role.schema);
      return this.#taken(await this.#untilOver());
    } catch (error) {
      if (this.#reply === undefined || goesOnByItself(error)) throw error;
      return this.#taken(uncheckedReply(this.#reply, error, this.#redaction));
    } finally {
      clock.stop();
      // The turn stands, whatever becomes of what the agent kept running.
      try {
        await withinGrace(Promise.resolve(agent.close?.()));
      } catch (error) {
        engine.debug(state.id, 'agent-not-closed', { reason: messageOf(error) });
      }
      await calls.close();
      if (this.#stepDir !== undefined) removeStepFolder(this.#stepDir);
      freeReserved(engine.repository);
    }
  }

  async #untilOver(): Promise<TurnEnd> {
    const { engine, state, role, request, allowance } = this.#step;
    let { prompt } = request;
    for (let attempt = this.#attempts.length; ; attempt += 1) {
      const reply = this.#leftReply() ?? (await this.#ask(prompt, attempt));
      const accepted = await acceptReply(this.#step, reply, this.#redaction);
      if (accepted.kind !== 'refused') return accepted;
      const { errors, text } = accepted.attempt;
      const refused = { ...accepted.attempt, usage: reply.usage ?? null };
      this.#attempts.push(refused);
      const isOver = attempt >= (role.retries ?? DEFAULT_RETRIES) || accepted.isFinal;
      const limit = isOver ? undefined : findLimitReached(withTurn(allowance, this.#usedHere))?.text;
      const place = { thread: state.id, role: request.role };
      engine.tell({ event: 'reply.refused', ...place, attempt, errors, isLast: isOver || limit !== undefined });
      if (isOver) return giveUp(request.role, accepted, attempt + 1);
      if (limit !== undefined) {
        const reason = `${limit}, and no reply was acceptable: ${errors.join('; ')}`;
        return { kind: 'suspended', cause: 'limit', reason, text };
      }
      // What may hold secrets is written nowhere.
      this.#log.refused(this.#redaction.failure === undefined ? refused : { ...refused, text: '', errors: [] });
      prompt = askAgain(request.promptWithoutSession, errors, reply.session !== undefined);
    }
  }

  /** The reply of an earlier process, once. */
  #leftReply(): TryReply | undefined {
    if (this.#left === undefined || this.#reply !== undefined) return undefined;
    const { turn, arrived } = this.#left;
    this.#take(arrived.reply, turn.arrivedAtMs ?? 0);
    if (turn.taken >= MAX_TAKEN) throw new Error(`${turn.taken} processes have ended over it`);
    return arrived.reply;
  }

  #take(reply: TryReply, atMs: number): void {
    this.#reply = reply;
    this.#arrivedAtMs = atMs;
    this.#usage = addUsage(this.#usage, reply.usage);
  }

  async #ask(prompt: string, attempt: number): Promise<TryReply> {
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
    if (named !== undefined && this.#redaction.text(named) === named) this.#session = named;
    this.#log.arrived(this.#arrivedAtMs, usage ?? null, () =>
      sealArrived(engine, { reply: this.#withChildren(reply), session: this.#session, trace: this.#trace() }),
    );
    return reply;
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
    if (choice.again !== undefined || this.#redaction.text(id) !== id) return;
    const key = { threadId: state.id, role: choice.role, agent: record.name };
    writeSession(engine.repository, key, { id, seen: state.head.id });
  }

  #taken(end: TurnEnd): TakenTurn {
    const attempts = this.#attempts;
    // Its pieces were redacted one by one: a secret across two of them is seen only now.
    const trace = orElse(() => this.#clean(this.#trace()), undefined);
    return {
      result: { ...end, attempts, usage: this.#usage, session: this.#session, trace },
      completedAtMs: this.#arrivedAtMs,
    };
  }

  #clean(trace: TraceDraft | undefined): TraceDraft | undefined {
    return trace && this.#redaction.value(trace);
  }

  /** How the agent came to its replies, also in the process that left one. */
  #trace(): TraceDraft | undefined {
    const before = this.#left?.arrived.trace;
    const now = this.#listener.trace.finish();
    if (before === undefined || now === undefined) return before ?? now;
    return { turns: [...before.turns, ...now.turns], durationMs: before.durationMs + now.durationMs };
  }
}
