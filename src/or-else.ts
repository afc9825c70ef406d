/**
 * Returns what `work` returns, or `otherwise` if it throws: for reads of which each failure means the same to the caller.
 * @param isExpected tells the errors that `otherwise` stands for; others go through. Default: all
 */
export function orElse<T, O>(work: () => T, otherwise: O, isExpected: (error: unknown) => boolean = () => true): T | O {
  try {
    return work();
  } catch (error) {
    if (!isExpected(error)) throw error;
    return otherwise;
  }
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** For `orElse`: tells errors of this class, its subclasses included. */
export function isOfClass(expected: ErrorClass): (error: unknown) => boolean {
  return (error) => error instanceof expected;
}

/** What a promise's `catch` is given: it returns `otherwise` in place of an error of this class, and throws any other. */
export function inPlaceOf<O>(expected: ErrorClass, otherwise: O): (error: unknown) => O {
  return (error) => {
    if (!(error instanceof expected)) throw error;
    return otherwise;
  };
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
