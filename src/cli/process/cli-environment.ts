import { fstatSync, statSync, writeSync } from 'node:fs';
import { resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { errnoOf } from '../../git/format/errors.ts';
import { endGitApart, keepGitApart } from '../../git/process/run-git.ts';
import { orElse } from '../../or-else.ts';
import { EXIT } from '../errors/exit-code.ts';

type InputStream = AsyncIterable<string | Uint8Array> & { isTTY?: boolean | undefined };

/** The environment of one command: all that it may read and write besides the repository. Tests hand in their own. */
export type CliEnvironment = {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  env: Readonly<Record<string, string | undefined>>;
  /** Absolute; what `-C` is relative to. */
  cwd: string;
  /** The folder of `-C`, in the words of the person; absent without that. */
  givenFolder?: string | undefined;
  /** False under `--no-pager`. */
  mayPage: boolean;
  now: () => number;
  /** When the person gave the command, in ms since 1970. */
  givenAtMs: number;
  /** Aborted by a signal, or when the reader closes the pipe. Reading it takes over the process's signals. */
  readonly signal: AbortSignal;
};

/** The environment of this process; `given` replaces parts of it. */
export function createCliEnvironment(given: Partial<CliEnvironment> = {}): CliEnvironment {
  let signal = given.signal;
  return {
    // Node opens its streams when they are asked for, which takes a millisecond or two for each.
    get stdin() {
      return given.stdin ?? process.stdin;
    },
    get stdout() {
      return given.stdout ?? processStdout();
    },
    get stderr() {
      return given.stderr ?? processStderr();
    },
    env: given.env ?? process.env,
    cwd: resolve(given.cwd ?? process.cwd()),
    givenFolder: given.givenFolder,
    mayPage: given.mayPage ?? true,
    now: given.now ?? Date.now,
    // What a clock has against it is for the command to tell. As for `resume`, a time that is not known is no bound.
    givenAtMs: given.givenAtMs ?? orElse(given.now ?? Date.now, Infinity),
    get signal() {
      return (signal ??= onSignals(given.env ?? process.env));
    },
  };
}

/** The same environment in the folder of `-C`. It does not read `signal`, which would take over the signals. */
export function environmentIn(
  cli: CliEnvironment,
  change: { folder?: string | undefined; mayPage?: boolean },
): CliEnvironment {
  const changed: CliEnvironment = Object.create(cli, {
    mayPage: { value: change.mayPage ?? cli.mayPage },
    ...(change.folder !== undefined && {
      cwd: { value: resolve(cli.cwd, change.folder) },
      givenFolder: { value: change.folder },
    }),
  });
  return changed;
}

/** Whether a person can be asked: both ends of the conversation are a terminal. */
export function canAsk(cli: Pick<CliEnvironment, 'stdin' | 'stderr'>): boolean {
  // stderr comes first: Node takes some milliseconds to open its stdin.
  return cli.stderr.isTTY === true && cli.stdin.isTTY === true;
}

/** As {@link canAsk}, but a command that an agent runs in its turn asks no one, although it may have a terminal. */
export function canAskForConsent(cli: Pick<CliEnvironment, 'stdin' | 'stderr' | 'env'>): boolean {
  return cli.env['UWF_THREAD'] === undefined && canAsk(cli);
}

/** Whether the environment trusts every repository, as in a CI. */
export function trustsAll({ env }: Pick<CliEnvironment, 'env'>): boolean {
  return env['UWF_TRUST'] === 'all';
}

let isNodeWriting = false;
let stdout: OutputStream | undefined;
let stderr: OutputStream | undefined;

/**
 * The process's stdout. A reader that has seen enough ends the command. Where it is no terminal, it is this stream's alone: what
 * the code of an agent package prints goes to stderr, so that results stay what a program can read.
 *
 * Its `write` throws a `UwfError` (`output-failed`) if the disk is full, for one.
 */
function processStdout(): OutputStream {
  return (stdout ??= open(1, ownStdout(), (error) => {
    if (errnoOf(error) !== 'EPIPE') {
      throw new UwfError(`what this command prints could not be written: ${error.message}`, {
        code: 'output-failed',
        kind: 'environment',
        hint: 'everything that it stored is kept; print to another place',
        cause: error,
      });
    }
    onClosedPipe();
  }));
}

/** Makes Node's stdout the stderr for all other code, and returns the real one. */
function ownStdout(): () => NodeJS.WriteStream {
  const own = Object.getOwnPropertyDescriptor(process, 'stdout');
  if (own?.get === undefined || mayBeTerminal(1)) return () => process.stdout;
  Object.defineProperty(process, 'stdout', { ...own, get: () => process.stderr });
  const real: { stdout: NodeJS.WriteStream } = Object.create(null, { stdout: own });
  return () => real.stdout;
}

/** The process's stderr. If it cannot be written, the message is lost and the command goes on. */
function processStderr(): OutputStream {
  return (stderr ??= open(
    2,
    () => process.stderr,
    () => {},
  ));
}

/** Whether all output has been written, so that the process may exit at once. Node's own streams may still hold some. */
export function isAllWritten(): boolean {
  return !isNodeWriting;
}

/**
 * Opens a stream for one of the process's file descriptors.
 *
 * Node's own streams bring `net` and `stream` along, which takes 5 ms: they are asked for where there may be a terminal, or
 * where the descriptor does not take what is written at once. Into files and pipes both write synchronously.
 */
function open(
  descriptor: number,
  nodeStream: () => NodeJS.WriteStream,
  onFailed: (error: Error) => void,
): OutputStream {
  const guarded = (): NodeJS.WriteStream => {
    isNodeWriting = true;
    const stream = nodeStream();
    if (stream.listenerCount('error') === 0) stream.on('error', onFailed);
    return stream;
  };
  if (mayBeTerminal(descriptor)) return guarded();
  let hasFailed = false;
  return {
    write(text) {
      if (hasFailed) return true;
      let rest = typeof text === 'string' ? Buffer.from(text) : text;
      try {
        while (rest.length > 0) rest = rest.subarray(writeSync(descriptor, rest));
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        // EAGAIN: another process made the pipe non-blocking, and it is full.
        if (errnoOf(error) === 'EAGAIN') return guarded().write(rest);
        hasFailed = true;
        onFailed(error);
      }
      return true;
    },
  };
}

function mayBeTerminal(descriptor: number): boolean {
  const kind = orElse(() => fstatSync(descriptor), undefined);
  // For a closed one, Node has an answer, too.
  if (kind === undefined) return true;
  return kind.isCharacterDevice() && kind.rdev !== statSync('/dev/null', { throwIfNoEntry: false })?.rdev;
}

/** A stream that text is written to, and what is known of the terminal behind it. */
export interface OutputStream {
  write(text: string | Uint8Array): unknown;
  isTTY?: boolean | undefined;
  /** The terminal's width and height in characters. */
  columns?: number | undefined;
  rows?: number | undefined;
}

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
function onSignals(env: Environment): AbortSignal {
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

/** Resolves when a command that an agent runs is sure to hear of the end of its root; no thread is let run before that. */
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

/** Ends the command, and a running agent first, because the reader closed the pipe (`uwf log | head -1`). This is no error. */
function onClosedPipe(): void {
  if (controller === undefined) process.exit(EXIT.done);
  controller.abort(new CommandStopped('SIGPIPE'));
}

/** A person, or the end of a pipe, stopped the command. */
export class CommandStopped extends UwfError {
  constructor(signal: string, message = 'interrupted') {
    super(message, { code: 'interrupted', kind: 'interrupted', facts: { signal } });
  }
}
