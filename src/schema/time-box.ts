import { createContext, Script } from 'node:vm';
import type { Context } from 'node:vm';
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { errnoOf, isShortOfFiles, TooManyOpenFiles } from '../git/object-errors.ts';
import { UwfError } from '../errors.ts';

/** A value could not be checked against a schema in the time a check may take. */
export class ValidationTimeout extends UwfError {
  readonly timeoutMs: number;
  constructor(timeoutMs: number, cause: unknown) {
    super(`checking a value against its schema took longer than ${timeoutMs} ms and was stopped`, {
      code: 'validation-timeout',
      kind: 'timeout',
      hint: "look for a 'pattern' in the schema that repeats a repetition, such as (a+)+",
      cause,
    });
    this.timeoutMs = timeoutMs;
  }
}

let box: { context: Context; script: Script } | undefined;

/**
 * Runs synchronous work and stops it when it takes too long, a regular expression that backtracks for ever included.
 *
 * V8 looks for an interruption in loops and when a regular expression backtracks; `vm` is the way to ask for one.
 * Nothing else is boxed in: the work sees what it always sees.
 * @throws {ValidationTimeout} if the time is over
 * @throws {TooManyOpenFiles} if there is no room for the watch
 */
export function runInTimeBox<Result>(work: () => Result, timeoutMs: number): Result {
  assertWatchable();
  box ??= { context: createContext({ work: undefined }), script: new Script('work()') };
  box.context['work'] = work;
  try {
    // The script returns what `work` returns.
    return box.script.runInContext(box.context, { timeout: timeoutMs }) as Result;
  } catch (error) {
    if (errnoOf(error) === 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw new ValidationTimeout(timeoutMs, error);
    throw error;
  } finally {
    box.context['work'] = undefined;
  }
}

/** What the event loop of a watch opens. Where it cannot, Node aborts the whole process. Source: `uv_loop_init` of libuv. */
const watchFiles = 6;

function assertWatchable(): void {
  const opened: number[] = [];
  try {
    for (let at = 0; at < watchFiles; at++) opened.push(openSync(devNull, 'r'));
  } catch (error) {
    throw isShortOfFiles(error) ? new TooManyOpenFiles(error) : error;
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}
