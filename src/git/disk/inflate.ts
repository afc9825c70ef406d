import { plainInflater, reusingInflater } from './inflater.ts';
import type { Inflater } from './inflater.ts';

/** Why a zlib stream did not give what was expected. */
export type InflateProblem = 'truncated' | 'too-long' | 'too-short' | 'damaged';

/** The outcome of {@link inflate}; `truncated` says that more input may help. */
export type Inflated = { data: Buffer } | { problem: InflateProblem };

/** The most that zlib can make out of one byte (RFC 1951: 258 bytes from two bits, less the block's own cost). */
const largestRatio = 1032;

// Made when something is first inflated.
let chosen: Inflater | undefined;

/** zlib counts in 32 bits; larger pieces are for Node to cut. */
const mostAtOnce = 2 ** 31 - 1;

function inflaterFor(input: Uint8Array, output: Buffer): Inflater {
  if (input.byteLength > mostAtOnce || output.byteLength > mostAtOnce) return plainInflater;
  chosen ??= reusingInflater() ?? plainInflater;
  return chosen;
}

/**
 * Inflates a zlib stream (RFC 1950) that must give exactly `size` bytes; what follows the stream is ignored.
 *
 * Never holds more than `size` bytes of output and one, whatever the stream says.
 */
export function inflate(input: Uint8Array, size: number): Inflated {
  // One more than there should be tells whether there is more.
  const output = Buffer.allocUnsafe(size + 1);
  const { filled, code } = inflaterFor(input, output)(input, output, true);
  if (code !== undefined) return { problem: code === 'Z_BUF_ERROR' ? 'truncated' : 'damaged' };
  if (filled === size) return { data: output.subarray(0, size) };
  return { problem: filled < size ? 'too-short' : 'too-long' };
}

/**
 * Inflates the beginning of a stream, at most `bytes` of it and as far as the given input reaches; `undefined` if it is no
 * zlib stream.
 */
export function inflateStart(input: Uint8Array, bytes: number): Buffer | undefined {
  const output = Buffer.allocUnsafe(bytes);
  const { filled, code } = inflaterFor(input, output)(input, output, false);
  return code === undefined ? output.subarray(0, filled) : undefined;
}

/** How many bytes a compressor of today needs at most for `size` bytes. Source: zlib's `compressBound`. */
export function compressedBound(size: number): number {
  return size + Math.floor(size / 4096) + Math.floor(size / 16384) + 64;
}

/** Tells whether `compressedBytes` can hold `size` bytes at all, so that a forged size is not believed. */
export function isPlausibleSize(size: number, compressedBytes: number): boolean {
  return size <= compressedBytes * largestRatio;
}
