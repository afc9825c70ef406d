import type { AgentReply, AgentRequest } from '../../agent/contract.ts';
import { messageOf, UwfError } from '../../errors.ts';
import type { SuspendCause } from '../../schema/built-in/thread-start.ts';
import { DepthExceeded } from '../engine-errors.ts';
import { BudgetExceeded, Interrupted } from '../limits/turn-clock.ts';
import type { TurnListener } from '../trace/turn-listener.ts';
import type { PreparedStep } from './step.ts';

/** How long the engine waits for an agent that was told to stop. uwf's own agents end their processes in less. */
const GRACE_MS = 30_000;

type Suspension = Extract<AgentReply, { kind: 'suspend' }>;

/** The reply of one try. The engine itself also suspends, when a clock or a budget ran out. */
export type TryReply = Exclude<AgentReply, Suspension> | (Omit<Suspension, 'cause'> & { cause: SuspendCause });

/**
 * Runs an agent once.
 * @throws {Interrupted} if the engine was told to stop
 * @throws {UwfError} if trying again cannot help, and nothing was paid for; also of kind `conflict`
 */
export async function runAgent(
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
export function inWholeCharacters(reply: TryReply): TryReply {
  const fields = Object.entries(reply).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === 'string' ? Buffer.from(value).toString() : value,
  ]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It has the same fields, and texts stay texts.
  return Object.fromEntries(fields) as TryReply;
}

/** Waits for what an agent was told to end, but not for ever, because it may not listen. */
export async function withinGrace<T>(ending: Promise<T>): Promise<T | undefined> {
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
