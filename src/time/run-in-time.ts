import { type Context, createContext, Script } from 'node:vm';

/** The most wall time of one run, as a multiple of its limit, if other processes have the processors. */
const MAX_STRETCH = 10;
/** So much of the limit counts as all of it: a processor is never had for all of the wall time. */
const WHOLE = 0.95;

let box: { context: Context; script: Script } | undefined;

/**
 * Runs synchronous work and stops it when it takes too long, also in the middle of a regular expression that backtracks.
 *
 * The limit counts processor time: work that was stopped because other processes had the processors is run again from its
 * beginning, with twice the wall time. V8 can be interrupted in loops and where a regular expression backtracks, and `vm`
 * requests it. The work is not isolated in any other way.
 * @param timedOut makes the error to throw when the time is up
 * @param isRepeatable false if work that was stopped cannot be run again: the limit is then wall time
 */
export function runInTime<Result>(
  work: () => Result,
  timeoutMs: number,
  timedOut: (cause: unknown) => Error,
  isRepeatable: boolean = true,
): Result {
  for (let wallMs = timeoutMs; ; wallMs = Math.min(wallMs * 2, timeoutMs * MAX_STRETCH)) {
    const before = process.cpuUsage();
    const outcome = runOnce(work, wallMs);
    if ('value' in outcome) return outcome.value;
    const { user, system } = process.cpuUsage(before);
    const isSpent = (user + system) / 1000 >= timeoutMs * WHOLE;
    if (!isRepeatable || isSpent || wallMs >= timeoutMs * MAX_STRETCH) throw timedOut(outcome.late);
  }
}

/** Runs work once. @returns its result, or the error with which it was stopped because the time was up */
function runOnce<Result>(work: () => Result, wallMs: number): { value: Result } | { late: unknown } {
  box ??= { context: createContext({ work: undefined }), script: new Script('work()') };
  let result: { value: Result } | undefined;
  box.context['work'] = () => {
    result = { value: work() };
  };
  try {
    box.script.runInContext(box.context, { timeout: wallMs });
  } catch (error) {
    // The error may come from another realm, where `Error` is another class.
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return { late: error };
  } finally {
    box.context['work'] = undefined;
  }
  if (result === undefined) throw new Error('the work was not run');
  return result;
}
