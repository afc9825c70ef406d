import { MAX_TIMER_MS } from '../max-timer.ts';

/** Looks that are rung for come no closer together than this, in ms. */
const MIN_GAP_MS = 250;

/** Wakes a worker before its time: a webhook or a signal says that there is something to look at. */
export class Bell {
  #isRung = false;
  #wake: (() => void) | undefined;

  /** Ends the wait that goes on, or the next one, soon. */
  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /**
   * Waits for a time, until the bell is rung, or until the signal is aborted.
   * @returns whether it was rung
   */
  async wait(ms: number, signal: AbortSignal): Promise<boolean> {
    await this.#sleep(Math.min(MIN_GAP_MS, ms), signal);
    if (!this.#isRung && ms > MIN_GAP_MS) await this.#sleep(ms - MIN_GAP_MS, signal, true);
    const isRung = this.#isRung;
    this.#isRung = false;
    return isRung;
  }

  #sleep(ms: number, signal: AbortSignal, endsWithRing = false): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS));
      signal.addEventListener('abort', end, { once: true });
      if (endsWithRing) this.#wake = end;
    });
  }
}
