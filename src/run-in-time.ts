import { createContext, Script } from 'node:vm';
import type { Context } from 'node:vm';

let box: { context: Context; script: Script } | undefined;

/**
 * Runs synchronous work and stops it when it takes too long, also in the middle of a regular expression that backtracks.
 *
 * V8 can be interrupted in loops and where a regular expression backtracks, and `vm` requests it. The work is not isolated
 * in any other way.
 * @param timedOut makes the error to throw when the time is up
 */
export function runInTime<Result>(work: () => Result, timeoutMs: number, timedOut: (cause: unknown) => Error): Result {
  box ??= { context: createContext({ work: undefined }), script: new Script('work()') };
  let result: { value: Result } | undefined;
  box.context['work'] = () => {
    result = { value: work() };
  };
  try {
    box.script.runInContext(box.context, { timeout: timeoutMs });
  } catch (error) {
    // The error may come from another realm, where `Error` is another class.
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    throw code === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? timedOut(error) : error;
  } finally {
    box.context['work'] = undefined;
  }
  if (result === undefined) throw new Error('the work was not run');
  return result.value;
}
