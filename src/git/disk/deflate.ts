import { constants, createDeflate, deflateSync, type ZlibOptions } from 'node:zlib';
import { openZlibEngine } from './zlib-engine.ts';

/** Deflates into a zlib stream (RFC 1950). */
export type Deflater = (data: Uint8Array) => Buffer;

/** What zlib writes into at once, in bytes: as much as the object is large. */
const minChunkSize = 256;
const maxChunkSize = 64 * 1024;

/** zlib's default takes 268 KB of memory for each; what is no longer than its window comes out the same. */
const small = { bytes: 4096, options: { windowBits: 12, memLevel: 5 } };

// By level; made when something is first deflated.
const smallDeflaters = new Map<number, Deflater>();

/**
 * Deflates into a zlib stream (RFC 1950).
 *
 * @param level zlib's, from 1 (fast) to 9 (small)
 */
export function deflate(data: Uint8Array, level: number): Buffer {
  if (data.byteLength > small.bytes) return plainDeflater({ level })(data);
  let deflater = smallDeflaters.get(level);
  if (deflater === undefined) {
    deflater = reusingDeflater(level) ?? plainDeflater({ level, ...small.options });
    smallDeflaters.set(level, deflater);
  }
  return deflater(data);
}

/** Deflates by what Node documents. */
function plainDeflater(options: ZlibOptions): Deflater {
  return (data) =>
    deflateSync(data, {
      ...options,
      // Node's default makes 16 KiB of garbage for an object of 100 bytes.
      chunkSize: Math.min(Math.max(data.byteLength, minChunkSize), maxChunkSize),
    });
}

/**
 * A deflater for small data that uses one state of zlib again and again; `undefined` where Node does not let it. What comes out
 * may differ from that of a new state by a byte or two, and inflates to the same.
 *
 * @param version that of Node
 */
export function reusingDeflater(level: number, version: string = process.versions.node): Deflater | undefined {
  const options = { level, ...small.options };
  const engine = openZlibEngine(() => createDeflate(options), version);
  if (engine === undefined) return undefined;
  const plain = plainDeflater(options);
  const output = Buffer.allocUnsafeSlow(boundOf(small.bytes));
  const deflater: Deflater = (data) => {
    const { room, code } = engine(constants.Z_FINISH, data, output);
    // Without room it may not have come to its end.
    return code === undefined && room > 0 ? Buffer.from(output.subarray(0, output.byteLength - room)) : plain(data);
  };
  try {
    return doesDeflate(deflater) ? deflater : undefined;
  } catch {
    return undefined;
  }
}

/** The most that so many bytes can become. Source: the cautious case of `deflateBound` in zlib's deflate.c. */
function boundOf(size: number): number {
  return size + Math.floor((size + 7) / 8) + Math.floor((size + 63) / 64) + 18;
}

/** What follows the two bytes of the head in the zlib stream of the two bytes `ok`, whatever the level. */
const known = 'cbcf0600014b00db';

/** Tries it out, and that one stream does not show in the next. */
function doesDeflate(deflater: Deflater): boolean {
  const isKnown = (): boolean => deflater(Buffer.from('ok')).toString('hex', 2) === known;
  return isKnown() && deflater(Buffer.alloc(9)).byteLength < boundOf(9) && isKnown();
}
