import { orElse } from '../../or-else.ts';
import { errnoOf } from '../../git/format/errors.ts';
import { UwfError } from '../../errors.ts';
import { fstatSync, statSync, writeSync } from 'node:fs';
import { onClosedPipe } from './signals.ts';

let isNodeWriting = false;
let stdout: OutputStream | undefined;
let stderr: OutputStream | undefined;

/**
 * The process's stdout. A reader that has seen enough ends the command. Where it is no terminal, it is this stream's alone: what
 * the code of an agent package prints goes to stderr, so that results stay what a program can read.
 *
 * Its `write` throws a `UwfError` (`output-failed`) if the disk is full, for one.
 */
export function processStdout(): OutputStream {
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
export function processStderr(): OutputStream {
  return (stderr ??= open(
    2,
    () => process.stderr,
    () => {},
  ));
}

/**
 * Whether all output has been written, so that the process may exit at once. Node's own streams may still hold some.
 */
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
  /** True for a terminal. */
  isTTY?: boolean | undefined;
  /** The terminal's width and height in characters. */
  columns?: number | undefined;
  rows?: number | undefined;
}
