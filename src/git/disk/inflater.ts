import { constants, createInflate, inflateSync } from 'node:zlib';
import { errnoOf } from '../object-errors.ts';
import { openZlibEngine } from './zlib-engine.ts';

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

const largestChunk = 2 ** 28;

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
 * An inflater that uses one state of zlib again and again; `undefined` where Node does not let it.
 *
 * @param version that of Node
 */
export function reusingInflater(version: string = process.versions.node): Inflater | undefined {
  const engine = openZlibEngine(createInflate, version);
  if (engine === undefined) return undefined;
  const inflate: Inflater = (input, output, isWhole) => {
    const { room, code } = engine(isWhole ? constants.Z_FINISH : constants.Z_SYNC_FLUSH, input, output);
    return { filled: output.byteLength - room, code };
  };
  try {
    return doesInflate(inflate) ? inflate : undefined;
  } catch {
    return undefined;
  }
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
