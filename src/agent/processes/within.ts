/** A limit of time, and the error that says that it has passed. */
export type TimeLimit = { limitMs: number; onLate: () => Error };

/**
 * Waits for a promise until a signal is aborted, or a time has passed.
 * @throws the signal's reason when it is aborted first
 * @throws what `onLate` gives when `limitMs` have passed first
 */
export async function within<Value>(promise: Promise<Value>, signal: AbortSignal, limit?: TimeLimit): Promise<Value> {
  // A caller that no longer waits need not hear that it failed.
  promise.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  let forget = (): void => {};
  const end = new Promise<undefined>((resolve, reject) => {
    if (limit) timer = setTimeout(() => reject(limit.onLate()), limit.limitMs);
    forget = whenAborted(signal, () => resolve(undefined));
  });
  try {
    const winner = await Promise.race([promise.then((value) => ({ value })), end]);
    if (winner !== undefined) return winner.value;
    throw signal.reason;
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/**
 * Calls a function when a signal is aborted, at once if it is aborted already.
 * @returns removes the listener
 */
export function whenAborted(signal: AbortSignal, act: () => void): () => void {
  signal.addEventListener('abort', act, { once: true });
  if (signal.aborted) act();
  return () => signal.removeEventListener('abort', act);
}
