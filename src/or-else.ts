/**
 * Returns what `work` returns, or `otherwise` if it throws: for a look at a file or a text whose every failure means the same
 * to the caller. What fails for several reasons that differ is caught where they are told apart.
 */
export function orElse<T, O>(work: () => T, otherwise: O): T | O {
  try {
    return work();
  } catch {
    return otherwise;
  }
}

/** Tells whether `work` returns and does not throw. */
export function succeeds(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

/** Does `work` and ignores its errors: for what a later run does again, or what may stay undone. */
export function tryTo(work: () => void): void {
  succeeds(work);
}
