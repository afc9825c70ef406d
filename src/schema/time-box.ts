import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { UwfError } from '../errors.ts';
import { isShortOfFiles, TooManyOpenFiles } from '../git/format/errors.ts';
import { runInTime } from '../time/run-in-time.ts';

/** A value could not be checked against a schema in the time a check may take. */
export class ValidationTimeout extends UwfError {
  constructor(timeoutMs: number, cause: unknown) {
    super(`checking a value against its schema took longer than ${timeoutMs} ms and was stopped`, {
      code: 'validation-timeout',
      kind: 'timeout',
      hint: "look for a 'pattern' in the schema that repeats a repetition, such as (a+)+",
      cause,
      facts: { timeoutMs },
    });
  }
}

/** Runs synchronous work as {@link runInTime} does. @throws {ValidationTimeout} if the time is over */
export function runInTimeBox<Result>(work: () => Result, timeoutMs: number, isRepeatable?: boolean): Result {
  assertWatchable();
  return runInTime(work, timeoutMs, (cause) => new ValidationTimeout(timeoutMs, cause), isRepeatable);
}

/** The files that the event loop of a watch opens. If it cannot, Node aborts the process. Source: `uv_loop_init` of libuv. */
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
