/**
 * Waits for something, but not for ever.
 * @throws the signal's reason when it is aborted first
 * @throws what `onLate` gives when `limitMs` have passed first
 */
export async function within<Value>(
  promise: Promise<Value>,
  { limitMs, signal, onLate }: { limitMs: number; signal: AbortSignal; onLate: () => Error },
): Promise<Value> {
  // Whoever does not wait any more need not hear that it failed.
  promise.catch(() => {});
  let abort = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<never>((_, reject) => {
    // An abort's reason is whatever the one who aborts gives.
    abort = () => reject(signal.reason as Error);
    timer = setTimeout(() => reject(onLate()), limitMs);
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
  });
  try {
    return await Promise.race([promise, end]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** What is to happen on an abort, and some time after it. */
export type AbortWatch = {
  /** Resolves with undefined so many ms after the abort; never without one. */
  after(ms: number): Promise<undefined>;
  /** Lets go of the signal and of all timers. */
  forget(): void;
};

/** Does something as soon as a signal is aborted, at once where it is already. */
export function whenAborted(signal: AbortSignal, act: () => void): AbortWatch {
  const timers: NodeJS.Timeout[] = [];
  const waiting: { ms: number; resolve: (value: undefined) => void }[] = [];
  let isAborted = false;
  const startTimers = (): void => {
    for (const { ms, resolve } of waiting.splice(0)) timers.push(setTimeout(() => resolve(undefined), ms));
  };
  const onAbort = (): void => {
    isAborted = true;
    act();
    startTimers();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return {
    after: (ms) =>
      new Promise((resolve) => {
        waiting.push({ ms, resolve });
        if (isAborted) startTimers();
      }),
    forget: () => {
      signal.removeEventListener('abort', onAbort);
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
