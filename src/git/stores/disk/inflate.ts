import { constants as zlib, inflateSync } from 'node:zlib';
import { orElse } from '../../../or-else.ts';
import { errnoOf } from '../../format/object-errors.ts';

/** What is wrong with a zlib stream. */
export type InflateProblem = 'truncated' | 'too-long' | 'too-short' | 'damaged';

/** The result of {@link inflate}; `truncated` says that more input may help. */
export type Inflated = { data: Buffer } | { problem: InflateProblem };

/** The most that zlib can make out of one byte (RFC 1951: 258 bytes from two bits, less the block's own cost). */
const MAX_RATIO = 1032;

/** zlib's buffer for output, in bytes: as large as the result, within these bounds. */
const MIN_CHUNK = 64;
const MAX_CHUNK = 2 ** 28;

/**
 * Inflates a zlib stream (RFC 1950) that must give exactly `size` bytes; what follows the stream is ignored.
 *
 * Never returns more than `size` bytes, whatever the stream says.
 */
export function inflate(input: Uint8Array, size: number): Inflated {
  // One byte more than expected shows that there is more.
  const room = size + 1;
  try {
    const chunkSize = Math.min(Math.max(room, MIN_CHUNK), MAX_CHUNK);
    const data = inflateSync(input, { chunkSize, maxOutputLength: room });
    if (data.byteLength === size) return { data };
    return { problem: data.byteLength < size ? 'too-short' : 'too-long' };
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ERR_BUFFER_TOO_LARGE') return { problem: 'too-long' };
    return { problem: code === 'Z_BUF_ERROR' ? 'truncated' : 'damaged' };
  }
}

/**
 * Inflates the beginning of a stream, at most `bytes` of it and as far as the input reaches; `undefined` if it is no zlib
 * stream.
 *
 * @param input short: all of it is inflated
 */
export function inflateStart(input: Uint8Array, bytes: number): Buffer | undefined {
  return orElse(() => inflateSync(input, { finishFlush: zlib.Z_SYNC_FLUSH }).subarray(0, bytes), undefined);
}

/** How many bytes a compressor of today needs at most for `size` bytes. Source: zlib's `compressBound`. */
export function compressedBound(size: number): number {
  return size + Math.floor(size / 4096) + Math.floor(size / 16384) + 64;
}

/** Tells whether `compressedBytes` can hold `size` bytes at all, so that a forged size is not believed. */
export function isPlausibleSize(size: number, compressedBytes: number): boolean {
  return size <= compressedBytes * MAX_RATIO;
}
