import { fstatSync, statSync, writeSync } from 'node:fs';
import type { OutputStream } from './output/output-stream.ts';
import { OutputFailed } from './output-failed.ts';
import { onClosedPipe } from './signals.ts';

let isNodeWriting = false;
let stdout: OutputStream | undefined;
let stderr: OutputStream | undefined;

/**
 * The process's stdout. A reader that has seen enough ends the command.
 *
 * Its `write` throws {OutputFailed} if the disk is full, for one.
 */
export function processStdout(): OutputStream {
  return (stdout ??= open(
    1,
    () => process.stdout,
    (error) => {
      if (error.code !== 'EPIPE') throw new OutputFailed(error);
      onClosedPipe();
    },
  ));
}

/** The process's stderr. Where nobody reads it, or it cannot be written, what is said there is lost and nothing else. */
export function processStderr(): OutputStream {
  return (stderr ??= open(
    2,
    () => process.stderr,
    () => {},
  ));
}

/**
 * Whether all that was said has been written, so that the process may end at once: nothing went through Node's own
 * streams, which may still hold some of it.
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
  onFailed: (error: NodeJS.ErrnoException) => void,
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
      } catch (thrown) {
        // NodeJS adds `code` to every error of a system call. EAGAIN: somebody made the pipe non-blocking, and it is full.
        const error = thrown as NodeJS.ErrnoException;
        if (error.code === 'EAGAIN') return guarded().write(rest);
        hasFailed = true;
        onFailed(error);
      }
      return true;
    },
  };
}

function mayBeTerminal(descriptor: number): boolean {
  try {
    const kind = fstatSync(descriptor);
    return kind.isCharacterDevice() && kind.rdev !== statSync('/dev/null', { throwIfNoEntry: false })?.rdev;
  } catch {
    // Closed: Node has an answer to that, too.
    return true;
  }
}
