import { EXIT } from './exit-code.ts';
import { Interruption } from './interruption.ts';

const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Takes over the signals by which a person ends a command.
 *
 * The first aborts the signal that is returned, so that an agent at work can be ended and its lease given back; the
 * second ends the process at once.
 */
export function onSignals(): AbortSignal {
  const controller = new AbortController();
  for (const name of stopping) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT.interrupted);
      controller.abort(new Interruption(name));
    });
  }
  // Whoever read what a command says is gone (`uwf run --json | head -1`): nobody wants the rest.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' && !controller.signal.aborted) controller.abort(new Interruption('SIGPIPE'));
  });
  return controller.signal;
}
