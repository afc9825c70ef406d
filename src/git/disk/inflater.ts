import { constants, createInflate, inflateSync } from 'node:zlib';
import { errnoOf } from '../object-errors.ts';

/**
 * How a piece of a zlib stream came out: `code` is zlib's, `undefined` where nothing was wrong as far as there was room. Where
 * something was, nothing counts as filled.
 */
export type Outcome = { filled: number; code: string | undefined };

/**
 * Inflates a zlib stream (RFC 1950) into `output` until that is full, the stream ends, or the input does; what follows the
 * stream is ignored.
 *
 * @param isWhole whether an input that ends before the stream does is a fault (`Z_BUF_ERROR`)
 */
export type Inflater = (input: Uint8Array, output: Buffer, isWhole: boolean) => Outcome;

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
type Engine = { _handle?: Partial<Handle> | null; _writeState?: unknown };

const largestChunk = 2 ** 28;

/** The versions of Node whose handles take these arguments. One that takes others does not throw: it aborts the process. */
const knownMajors = { from: 20, to: 24 };

/** Inflates by what Node documents. */
export const plainInflater: Inflater = (input, output, isWhole) => {
  try {
    const data = inflateSync(input, {
      chunkSize: Math.min(Math.max(output.byteLength, 64), largestChunk),
      ...(isWhole ? { maxOutputLength: output.byteLength } : { finishFlush: constants.Z_SYNC_FLUSH }),
    });
    return { filled: data.copy(output), code: undefined };
  } catch (error) {
    const code = errnoOf(error);
    // More than there is room for: what fits has not been handed out, and is not asked for then.
    if (code === 'ERR_BUFFER_TOO_LARGE') return { filled: output.byteLength, code: undefined };
    return { filled: 0, code: code ?? 'Z_DATA_ERROR' };
  }
};

/**
 * An inflater that uses one state of zlib again and again; `undefined` where Node's streams are built otherwise, or may be.
 *
 * Making that state is a third of what it takes to inflate a KiB, and each holds 40 KiB that only the collector frees.
 *
 * @param version that of Node
 */
export function reusingInflater(version: string = process.versions.node): Inflater | undefined {
  const major = Number.parseInt(version, 10);
  if (!(major >= knownMajors.from && major <= knownMajors.to)) return undefined;
  // Not part of Node's documented interface, and so looked at before it is used.
  const { _handle: handle, _writeState: state } = createInflate() as Engine;
  if (!(state instanceof Uint32Array) || !isHandle(handle)) return undefined;
  let code: string | undefined;
  Object.assign(handle, {
    onerror(_message: string, _errno: number, what: string): void {
      code = what;
    },
  });
  const inflate: Inflater = (input, output, isWhole) => {
    code = undefined;
    const flush = isWhole ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    // Before and not after: a stack that overflows in between must not leave its state to the next stream.
    handle.reset();
    handle.writeSync(flush, input, 0, input.byteLength, output, 0, output.byteLength);
    // What is left of the output is told of a stream that is sound alone.
    return { filled: code === undefined ? output.byteLength - (state[0] ?? 0) : 0, code };
  };
  try {
    return doesInflate(inflate) ? inflate : undefined;
  } catch {
    return undefined;
  }
}

function isHandle(handle: Partial<Handle> | null | undefined): handle is Handle {
  return typeof handle?.writeSync === 'function' && typeof handle.reset === 'function';
}

/** The zlib stream of the two bytes `ok`. */
const known = Buffer.from('789ccbcf0600014b00db', 'hex');

/** Tries what may go wrong: a stream, a stream cut off, what is none, and that none of these shows in the next one. */
function doesInflate(inflate: Inflater): boolean {
  const output = Buffer.alloc(3);
  for (let round = 0; round < 2; round++) {
    const { filled, code } = inflate(known, output, true);
    if (filled !== 2 || code !== undefined || output.toString('latin1') !== 'ok\0') return false;
    if (inflate(known.subarray(0, 5), output, true).code !== 'Z_BUF_ERROR') return false;
    if (inflate(Buffer.from('none'), output, true).code !== 'Z_DATA_ERROR') return false;
    output.fill(0);
  }
  return true;
}
