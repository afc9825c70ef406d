import { UwfError } from '../../errors.ts';
import { MAX_TIMER_MS } from '../../time/clock.ts';
import type { Limits } from '../../schema/built-in/schema-parts.ts';

/** An agent's time ran out. */
export class TurnTimeout extends UwfError {
  constructor(role: string, isIdle: boolean, limitMs: number) {
    super(
      isIdle
        ? `${role} gave no sign of life for ${limitMs / 1000} s`
        : `${role} did not finish within ${limitMs / 1000} s`,
      {
        code: isIdle ? 'turn-idle' : 'turn-timeout',
        kind: 'timeout',
        hint: `raise limits.${isIdle ? 'idleTimeoutMs' : 'timeoutMs'}, or resume the thread to try again`,
      },
    );
  }
}

/** A running turn has exceeded a budget. */
export class BudgetExceeded extends UwfError {
  constructor(reason: string) {
    super(reason, {
      code: 'budget-exceeded',
      kind: 'timeout',
      hint: 'raise the limit, or resume the thread with more',
    });
  }
}

/** A person or a signal stopped the engine. */
export class Interrupted extends UwfError {
  constructor(thread: string, cause?: unknown) {
    super('stopped before the step was finished; what it has used counts, and the next turn stores it', {
      code: 'interrupted',
      kind: 'interrupted',
      // Cancelling a thread stops its process first, and ends the thread afterwards.
      hint: `'uwf thread run ${thread}' goes on from the last step, unless the thread was cancelled`,
      cause,
    });
  }
}

/**
 * The clocks of one turn: total time, and time since the agent's last sign of life.
 *
 * `signal` is aborted with a {@link TurnTimeout} when one runs out, or with the engine's own reason.
 */
export class TurnClock {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #engine: AbortSignal;
  readonly #stopWithEngine = (): void => this.#controller.abort(this.#engine.reason);
  #reason: Error | undefined;
  readonly #role: string;
  readonly #idleMs: number | undefined;
  readonly #total: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(role: string, limits: Limits, signal: AbortSignal) {
    this.signal = this.#controller.signal;
    this.#engine = signal;
    // Not `AbortSignal.any`: what waits for its signal would be kept until the engine's own is aborted, turn after turn.
    if (signal.aborted) this.#stopWithEngine();
    else signal.addEventListener('abort', this.#stopWithEngine, { once: true });
    this.#role = role;
    this.#idleMs = limits.idleTimeoutMs;
    const { timeoutMs } = limits;
    if (timeoutMs !== undefined) this.#total = this.#start(false, timeoutMs);
    this.touch();
  }

  /** The agent gave a sign of life. */
  touch(): void {
    if (this.#idleMs === undefined) return;
    clearTimeout(this.#idle);
    this.#idle = this.#start(true, this.#idleMs);
  }

  /** Ends the turn because of something that only ending it can put right; `failure` is that then. */
  fail(failure: Error): void {
    this.#reason ??= failure;
    this.#controller.abort(failure);
  }

  stop(): void {
    this.#engine.removeEventListener('abort', this.#stopWithEngine);
    clearTimeout(this.#total);
    clearTimeout(this.#idle);
  }

  /** What ended the turn, if a clock or a budget did. */
  get ranOut(): TurnTimeout | BudgetExceeded | undefined {
    const reason = this.#reason;
    return reason instanceof TurnTimeout || reason instanceof BudgetExceeded ? reason : undefined;
  }

  /** What ended the turn, if {@link fail} did. */
  get failure(): Error | undefined {
    return this.ranOut === undefined ? this.#reason : undefined;
  }

  #start(isIdle: boolean, ms: number): NodeJS.Timeout {
    const timeout = new TurnTimeout(this.#role, isIdle, ms);
    return setTimeout(() => this.fail(timeout), Math.min(ms, MAX_TIMER_MS));
  }
}
