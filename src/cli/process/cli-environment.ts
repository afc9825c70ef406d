import { orElse } from '../../or-else.ts';
import { resolve } from 'node:path';
import { processStderr, processStdout, type OutputStream } from './process-streams.ts';
import { onSignals } from './signals.ts';

/** Where text is read from. */
type InputStream = AsyncIterable<string | Uint8Array> & { isTTY?: boolean | undefined };

/**
 * The environment of one command: all that it may read and write besides the repository.
 *
 * Tests hand in their own; the program gets the process's.
 */
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

/**
 * Tells whether a person can be asked for agreement. A command that an agent runs in its turn asks no one, although it may have
 * a terminal.
 */
export function canAskForConsent(cli: Pick<CliEnvironment, 'stdin' | 'stderr' | 'env'>): boolean {
  return cli.env['UWF_THREAD'] === undefined && canAsk(cli);
}

/** Whether the environment trusts every repository, as in a CI. */
export function trustsAll({ env }: Pick<CliEnvironment, 'env'>): boolean {
  return env['UWF_TRUST'] === 'all';
}
