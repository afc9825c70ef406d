import { readSync } from 'node:fs';

/** Reads from a position until the buffer is full or the file ends; returns the filled part. */
export function readAt(descriptor: number, buffer: Buffer, position: number): Buffer {
  let filled = 0;
  while (filled < buffer.byteLength) {
    const count = readSync(descriptor, buffer, filled, buffer.byteLength - filled, position + filled);
    if (count === 0) break;
    filled += count;
  }
  return buffer.subarray(0, filled);
}
