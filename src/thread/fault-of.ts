import { UwfError } from '../errors.ts';

/**
 * Returns the fault of the checked data that an error reports; `undefined` if the error is about something else: the
 * machine (a disk that cannot be read), or a request to stop.
 *
 * Damage is a fault. So is a value or a pattern whose check does not end. An unexpected error is a fault as well: the data
 * may be sound and uwf wrong, but the check of other threads can go on.
 */
export function faultOf(error: unknown): string | undefined {
  if (error instanceof UwfError) return error.kind === 'data' || error.kind === 'timeout' ? error.message : undefined;
  const isUnexpected = error instanceof Error && error.name !== 'AbortError' && !('syscall' in error);
  return isUnexpected ? `${UNEXPECTED}: ${error.name}: ${error.message}` : undefined;
}

/** As {@link faultOf}. Throws an error that is about something else again. */
export function asFault(error: unknown): string {
  const fault = faultOf(error);
  if (fault === undefined) throw error;
  return fault;
}

/** The beginning of the fault that an unexpected error becomes. */
export const UNEXPECTED = 'it cannot be checked';

/** Throws an error again unless it is about the data that was read. */
export function assertDataError(error: unknown): asserts error is UwfError {
  if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
}

/** For a promise's `catch`: returns `undefined` for damaged or missing data, and throws any other error again. */
export function nothingForDataError(error: unknown): undefined {
  assertDataError(error);
}
