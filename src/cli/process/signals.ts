import { UwfError } from '../../errors.ts';
import { endGitApart, keepGitApart } from '../../git/process/run-git.ts';
import { EXIT } from '../errors/exit-code.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const stopping = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

let controller: AbortController | undefined;
/** Whether the tree of runs of this command has lost its root. */
let isRootGone = (): boolean => false;
let watching: Promise<void> = Promise.resolve();

/**
 * Takes over the signals by which a person ends a command.
 *
 * The first aborts the signal that is returned, so that an agent at work can be ended and its lease given back; the
 * second ends the process at once. A terminal sends them to git too, which has to go on as this process does; a git that talks
 * to a remote has to stay where it can ask for a password.
 */
export function onSignals(env: Environment): AbortSignal {
  if (controller !== undefined) return controller.signal;
  const own = new AbortController();
  controller = own;
  keepApart('local');
  watchRoot(env, () => own.abort(rootEnded()));
  for (const name of stopping) {
    process.on(name, () => {
      if (own.signal.aborted) exitAtOnce();
      own.abort(new CommandStopped(name));
    });
  }
  return own.signal;
}

/**
 * Takes over the signals for a command that has more than one way to stop: the first and the second abort a signal each, the
 * third ends the process at once. For a command that does not use {@link onSignals}, and whose git asks nothing.
 */
export function onSignalsInTurn(env: Environment): { first: AbortSignal; second: AbortSignal } {
  const [first, second] = [new AbortController(), new AbortController()];
  keepApart('all');
  watchRoot(env, () => {
    for (const each of [first, second]) each.abort(rootEnded());
  });
  for (const name of stopping) {
    process.on(name, () => {
      if (second.signal.aborted) exitAtOnce();
      (first.signal.aborted ? second : first).abort(new CommandStopped(name));
    });
  }
  return { first: first.signal, second: second.signal };
}

function watchRoot(env: Environment, end: () => void): void {
  if (!env['UWF_TREE']) return;
  watching = import('./end-with-root.ts').then(({ endWithRoot }) => void (isRootGone = endWithRoot(env, end)));
}

/**
 * Resolves when a command that an agent runs is sure to hear of the end of its root. A thread is let run after that, so that none
 * runs on of whose root nothing is heard.
 */
export function rootWatched(): Promise<void> {
  return watching;
}

function rootEnded(): CommandStopped {
  return new CommandStopped('SIGTERM', 'interrupted: the run whose agent started this command has ended');
}

function exitAtOnce(): void {
  // The other commands of the agent tell it to end as well, and no person waits for this one.
  if (!isRootGone()) process.exit(EXIT.interrupted);
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
  constructor(signal: string, message = 'interrupted') {
    super(message, { code: 'interrupted', kind: 'interrupted', facts: { signal } });
  }
}
