const blockBytes = 16;
const longestInsert = 127;
const longestCopy = 0xffff;
/** How many places of a base are looked at for one block, so that a file of zeros does not take for ever. */
const placesPerBlock = 8;
/** A match so long is taken without looking for a longer one. */
const longEnough = 4096;

/**
 * Writes how to make a target out of a base, as `applyDelta` reads it: stretches of the base that are copied, and what
 * is new.
 *
 * Finds what is the same by blocks of 16 bytes. It is not the shortest there is.
 * Source: gitformat-pack(5), "Deltified representation".
 */
export function encodeDelta(base: Uint8Array, target: Uint8Array): Buffer {
  const from = asBuffer(base);
  const to = asBuffer(target);
  const blocks = blocksOf(from);
  const parts: Buffer[] = [encodeSize(from.byteLength), encodeSize(to.byteLength)];
  let inserted = 0;
  for (let at = 0; at + blockBytes <= to.byteLength;) {
    const copy = longestMatch(from, to, at, blocks.get(hashBlock(to, at)));
    if (copy === undefined) {
      at += 1;
      continue;
    }
    // What comes before the block may be the same too.
    while (at > inserted && copy.from > 0 && from[copy.from - 1] === to[at - 1]) {
      at -= 1;
      copy.from -= 1;
      copy.length += 1;
    }
    addInserts(parts, to.subarray(inserted, at));
    addCopies(parts, copy);
    at += copy.length;
    inserted = at;
  }
  addInserts(parts, to.subarray(inserted));
  return Buffer.concat(parts);
}

type Copy = { from: number; length: number };

function blocksOf(base: Buffer): Map<number, number[]> {
  const blocks = new Map<number, number[]>();
  for (let at = 0; at + blockBytes <= base.byteLength; at += blockBytes) {
    const hash = hashBlock(base, at);
    const places = blocks.get(hash);
    if (places === undefined) blocks.set(hash, [at]);
    else if (places.length < placesPerBlock) places.push(at);
  }
  return blocks;
}

function hashBlock(bytes: Buffer, at: number): number {
  let hash = 0;
  for (let word = 0; word < blockBytes; word += 4) {
    hash = Math.imul(hash ^ bytes.readInt32LE(at + word), 0x9e3779b1);
    hash ^= hash >>> 15;
  }
  return hash;
}

function longestMatch(base: Buffer, target: Buffer, at: number, places: readonly number[] = []): Copy | undefined {
  let longest: Copy | undefined;
  for (const from of places) {
    let length = 0;
    while (at + length < target.byteLength && base[from + length] === target[at + length]) length += 1;
    if (length >= blockBytes && length > (longest?.length ?? 0)) longest = { from, length };
    if (length >= longEnough) break;
  }
  return longest;
}

function addInserts(parts: Buffer[], bytes: Buffer): void {
  for (let at = 0; at < bytes.byteLength; at += longestInsert) {
    const part = bytes.subarray(at, at + longestInsert);
    parts.push(Buffer.from([part.byteLength]), part);
  }
}

function addCopies(parts: Buffer[], { from, length }: Copy): void {
  for (let done = 0; done < length; done += longestCopy) {
    const bytes: number[] = [];
    let instruction = 0x80;
    const add = (value: number, bits: readonly number[]): void => {
      for (const [place, bit] of bits.entries()) {
        const byte = Math.floor(value / 256 ** place) % 256;
        if (byte === 0) continue;
        instruction |= bit;
        bytes.push(byte);
      }
    };
    add(from + done, [0x01, 0x02, 0x04, 0x08]);
    add(Math.min(length - done, longestCopy), [0x10, 0x20]);
    parts.push(Buffer.from([instruction, ...bytes]));
  }
}

function encodeSize(size: number): Buffer {
  const bytes: number[] = [];
  let rest = size;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
