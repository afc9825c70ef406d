import { UwfError } from '../../errors.ts';
import { endGitApart, keepGitApart } from '../../git/process/spawn-git.ts';
import { EXIT } from '../errors/exit-code.ts';

const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let controller: AbortController | undefined;

/**
 * Takes over the signals by which a person ends a command.
 *
 * The first aborts the signal that is returned, so that an agent at work can be ended and its lease given back; the
 * second ends the process at once. A terminal sends them to git too, which has to go on as this process does; a git that talks
 * to a remote has to stay where it can ask for a password.
 */
export function onSignals(): AbortSignal {
  if (controller !== undefined) return controller.signal;
  const own = new AbortController();
  controller = own;
  keepApart('local');
  for (const name of stopping) {
    process.on(name, () => {
      if (own.signal.aborted) process.exit(EXIT.interrupted);
      own.abort(new CommandStopped(name));
    });
  }
  return own.signal;
}

/**
 * Takes over the signals for a command that has more than one way to stop: the first and the second abort a signal each, the
 * third ends the process at once. For a command that does not use {@link onSignals}, and whose git asks nothing.
 */
export function onSignalsInTurn(): { first: AbortSignal; second: AbortSignal } {
  const [first, second] = [new AbortController(), new AbortController()];
  keepApart('all');
  for (const name of stopping) {
    process.on(name, () => {
      if (second.signal.aborted) process.exit(EXIT.interrupted);
      (first.signal.aborted ? second : first).abort(new CommandStopped(name));
    });
  }
  return { first: first.signal, second: second.signal };
}

function keepApart(which: 'local' | 'all'): void {
  keepGitApart(which);
  process.on('exit', endGitApart);
}

/**
 * Ends the command because the reader closed the pipe (`uwf log | head -1`). This is no error. A running agent is ended
 * first.
 */
export function onClosedPipe(): void {
  if (controller === undefined) process.exit(EXIT.done);
  controller.abort(new CommandStopped('SIGPIPE'));
}

/** A person, or the end of a pipe, stopped the command. */
export class CommandStopped extends UwfError {
  /** @param signal the one that did it */
  constructor(signal: string) {
    super('interrupted', { code: 'interrupted', kind: 'interrupted', facts: { signal } });
  }
}
