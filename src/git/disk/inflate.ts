import { constants, inflateSync } from 'node:zlib';
import { errnoOf } from '../object-errors.ts';

/** Why a zlib stream did not give what was expected. */
export type InflateProblem = 'truncated' | 'too-long' | 'too-short' | 'damaged';

/** The outcome of {@link inflate}; `truncated` says that more input may help. */
export type Inflated = { data: Buffer } | { problem: InflateProblem };

/** The most that zlib can make out of one byte (RFC 1951: 258 bytes from two bits, less the block's own cost). */
const largestRatio = 1032;

/**
 * Inflates a zlib stream (RFC 1950) that must give exactly `size` bytes; what follows the stream is ignored.
 *
 * Never holds more than `size` bytes of output, whatever the stream says.
 */
export function inflate(input: Uint8Array, size: number): Inflated {
  let data: Buffer;
  try {
    data = inflateSync(input, { chunkSize: Math.max(size, 64), maxOutputLength: Math.max(size, 1) });
  } catch (error) {
    return { problem: problemOf(error) };
  }
  return data.byteLength === size ? { data } : { problem: data.byteLength < size ? 'too-short' : 'too-long' };
}

/** Inflates the beginning of a stream as far as the given input reaches; `undefined` if it is no zlib stream. */
export function inflateStart(input: Uint8Array): Buffer | undefined {
  try {
    return inflateSync(input, { finishFlush: constants.Z_SYNC_FLUSH, chunkSize: 1024 });
  } catch {
    return undefined;
  }
}

/** How many bytes a compressor of today needs at most for `size` bytes. Source: zlib's `compressBound`. */
export function compressedBound(size: number): number {
  return size + Math.floor(size / 4096) + Math.floor(size / 16384) + 64;
}

/** Tells whether `compressedBytes` can hold `size` bytes at all, so that a forged size is not believed. */
export function isPlausibleSize(size: number, compressedBytes: number): boolean {
  return size <= compressedBytes * largestRatio;
}

function problemOf(error: unknown): InflateProblem {
  switch (errnoOf(error)) {
    case 'Z_BUF_ERROR':
      return 'truncated';
    case 'ERR_BUFFER_TOO_LARGE':
      return 'too-long';
    default:
      return 'damaged';
  }
}
