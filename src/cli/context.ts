import { resolve } from 'node:path';
import type { OutputStream } from './output/output-stream.ts';
import { processStderr, processStdout } from './process-streams.ts';
import { onSignals } from './signals.ts';

/** Where text is read from. */
export type InputStream = AsyncIterable<string | Uint8Array> & { isTTY?: boolean | undefined };

/**
 * The world of one command: all that it may read and write besides the repository.
 *
 * Tests hand in their own; the program gets the process's.
 */
export type CliContext = {
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  env: Readonly<Record<string, string | undefined>>;
  /** Absolute; what `-C` is relative to. */
  cwd: string;
  /** True when the person named the folder with `-C`. */
  isFolderGiven: boolean;
  /** False under `--no-pager`. */
  mayPage: boolean;
  now: () => number;
  /** Aborted when the person, or the end of a pipe, says stop. Asking for it takes over the process's signals. */
  readonly signal: AbortSignal;
};

/** The process's own context, with what is given in its place. */
export function createContext(given: Partial<CliContext> = {}): CliContext {
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
    isFolderGiven: given.isFolderGiven ?? false,
    mayPage: given.mayPage ?? true,
    now: given.now ?? Date.now,
    get signal() {
      return (signal ??= onSignals());
    },
  };
}

/** The same world seen from the folder of `-C`. Keeps the signals unasked for. */
export function contextIn(cli: CliContext, change: { folder?: string | undefined; mayPage?: boolean }): CliContext {
  const changed: CliContext = Object.create(cli, {
    mayPage: { value: change.mayPage ?? cli.mayPage },
    ...(change.folder !== undefined && {
      cwd: { value: resolve(cli.cwd, change.folder) },
      isFolderGiven: { value: true },
    }),
  });
  return changed;
}
