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

/** Ends the command because nobody reads what it prints (`uwf log | head -1`): no error. An agent at work is ended first. */
export function onClosedPipe(): void {
  if (controller === undefined) process.exit(EXIT.done);
  controller.abort(new Interruption('SIGPIPE'));
}
