import { EXIT } from './exit-code.ts';
import { Interruption } from './interruption.ts';

const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let controller: AbortController | undefined;

/**
 * Takes over the signals by which a person ends a command.
 *
 * The first aborts the signal that is returned, so that an agent at work can be ended and its lease given back; the
 * second ends the process at once.
 */
export function onSignals(): AbortSignal {
  if (controller !== undefined) return controller.signal;
  const own = new AbortController();
  controller = own;
  for (const name of stopping) {
    process.on(name, () => {
      if (own.signal.aborted) process.exit(EXIT.interrupted);
      own.abort(new Interruption(name));
    });
  }
  return own.signal;
}

let guarded: NodeJS.WriteStream | undefined;

/**
 * The process's stdout, for which a reader that has seen enough (`uwf log | head -1`) is no error: the command ends, and an
 * agent at work is ended first.
 */
export function guardedStdout(): NodeJS.WriteStream {
  if (guarded !== undefined) return guarded;
  guarded = process.stdout;
  guarded.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    if (controller === undefined) process.exit(EXIT.done);
    controller.abort(new Interruption('SIGPIPE'));
  });
  return guarded;
}

let guardedErrors: NodeJS.WriteStream | undefined;

/** The process's stderr; where nobody reads it, what is said there is lost and nothing else. */
export function guardedStderr(): NodeJS.WriteStream {
  if (guardedErrors !== undefined) return guardedErrors;
  guardedErrors = process.stderr;
  guardedErrors.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  return guardedErrors;
}
