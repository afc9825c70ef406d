/** The head of a delta. */
export type DeltaSizes = { baseSize: number; resultSize: number; instructionsAt: number };

/**
 * Reads the two sizes at the start of a delta; `undefined` if the delta is cut off there.
 *
 * Source: gitformat-pack(5), "Deltified representation".
 */
export function readDeltaSizes(delta: Uint8Array): DeltaSizes | undefined {
  const base = readSize(delta, 0);
  if (base === undefined) return undefined;
  const result = readSize(delta, base.end);
  if (result === undefined) return undefined;
  return { baseSize: base.value, resultSize: result.value, instructionsAt: result.end };
}

/** The most that one byte of a delta can produce: the length of a copy has three bytes. */
const MAX_COPY_BYTES = 0xffffff;

/**
 * Applies a delta to its base; `undefined` if the delta is for another base, is cut off, or copies from outside of the base.
 *
 * Source: gitformat-pack(5), "Deltified representation".
 */
export function applyDelta(base: Uint8Array, delta: Uint8Array): Buffer | undefined {
  const sizes = readDeltaSizes(delta);
  if (sizes === undefined || sizes.baseSize !== base.byteLength) return undefined;
  // A forged size must not decide how much memory is allocated.
  if (sizes.resultSize > delta.byteLength * MAX_COPY_BYTES) return undefined;
  const result = Buffer.allocUnsafe(sizes.resultSize);
  let at = sizes.instructionsAt;
  let filled = 0;
  while (at < delta.byteLength) {
    const instruction = delta[at++];
    if (instruction === undefined || instruction === 0) return undefined;
    let from = 0;
    let length = instruction;
    let source = delta;
    if (instruction & 0x80) {
      source = base;
      length = 0;
      if (instruction & 0x01) from = delta[at++] ?? 0;
      if (instruction & 0x02) from |= (delta[at++] ?? 0) << 8;
      if (instruction & 0x04) from |= (delta[at++] ?? 0) << 16;
      if (instruction & 0x08) from += (delta[at++] ?? 0) * 0x1000000;
      if (instruction & 0x10) length = delta[at++] ?? 0;
      if (instruction & 0x20) length |= (delta[at++] ?? 0) << 8;
      if (instruction & 0x40) length |= (delta[at++] ?? 0) << 16;
      if (length === 0) length = 0x10000;
    } else {
      from = at;
      at += length;
    }
    if (at > delta.byteLength) return undefined;
    if (from + length > source.byteLength || filled + length > result.byteLength) return undefined;
    result.set(source.subarray(from, from + length), filled);
    filled += length;
  }
  return filled === result.byteLength ? result : undefined;
}

function readSize(delta: Uint8Array, start: number): { value: number; end: number } | undefined {
  let value = 0;
  let scale = 1;
  // Seven bytes of seven bits fit into the integers that a number holds exactly.
  for (let at = start; at < start + 7; at++) {
    const byte = delta[at];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * scale;
    scale *= 128;
    if ((byte & 0x80) === 0) return { value, end: at + 1 };
  }
  return undefined;
}
