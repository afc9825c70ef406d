import type { Deflate, Inflate } from 'node:zlib';

/** What a zlib stream of Node stands on, and its own synchronous calls use (`processChunkSync` in Node's lib/zlib.js). */
type Handle = {
  writeSync(
    flush: number,
    input: Uint8Array,
    inputAt: number,
    inputBytes: number,
    output: Uint8Array,
    outputAt: number,
    outputBytes: number,
  ): void;
  reset(): void;
};

/**
 * Runs a piece through a stream's state of zlib, which starts anew each time, until the input or the room for output ends.
 *
 * `room` is what is left of the output; `code` is zlib's, `undefined` where nothing was wrong as far as there was room.
 */
export type ZlibEngine = (
  flush: number,
  input: Uint8Array,
  output: Uint8Array,
) => { room: number; code: string | undefined };

/** The versions of Node whose handles take these arguments. One that takes others does not throw: it aborts the process. */
const knownMajors = { from: 20, to: 24 };

/**
 * Takes a stream's state of zlib out, to be used again and again; `undefined` where Node's streams are built otherwise, or
 * may be. Whoever uses it tries it out first.
 *
 * Making that state is a third of what it takes to inflate a KiB and half of deflating one, and each holds tens of KiB that
 * only the collector frees.
 *
 * @param version that of Node
 */
export function openZlibEngine(create: () => Inflate | Deflate, version: string): ZlibEngine | undefined {
  const major = Number.parseInt(version, 10);
  if (!(major >= knownMajors.from && major <= knownMajors.to)) return undefined;
  // Not part of Node's documented interface, and so looked at before it is used.
  const { _handle: handle, _writeState: state } = create() as {
    _handle?: Partial<Handle> | null;
    _writeState?: unknown;
  };
  if (!(state instanceof Uint32Array) || !isHandle(handle)) return undefined;
  let code: string | undefined;
  Object.assign(handle, {
    onerror(_message: string, _errno: number, what: string): void {
      code = what;
    },
  });
  return (flush, input, output) => {
    code = undefined;
    // Before and not after: a stack that overflows in between must not leave its state to the next stream.
    handle.reset();
    handle.writeSync(flush, input, 0, input.byteLength, output, 0, output.byteLength);
    // What is left of the output is told of what is sound alone.
    return { room: code === undefined ? (state[0] ?? 0) : output.byteLength, code };
  };
}

function isHandle(handle: Partial<Handle> | null | undefined): handle is Handle {
  return typeof handle?.writeSync === 'function' && typeof handle.reset === 'function';
}
