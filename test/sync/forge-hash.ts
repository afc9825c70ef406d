import type { NodeHash } from '../../src/cas/hash.ts';
import { hashNode } from '../../src/cas/hash.ts';
import { builtIn } from '../../src/schema/built-in.ts';

// XXH64 is no cryptographic hash: what it does to its input can be undone, word by word.
// Source: the XXH64 specification (doc/xxhash_spec.md in the xxHash repository).

const MASK = (1n << 64n) - 1n;
const P1 = 0x9e3779b185ebca87n;
const P2 = 0xc2b2ae3d27d4eb4fn;
const P3 = 0x165667b19e3779f9n;
const P4 = 0x85ebca77c2b2ae63n;

const rotate = (value: bigint, by: bigint): bigint => ((value << by) | (value >> (64n - by))) & MASK;
const round = (lane: bigint, word: bigint): bigint => (rotate((lane + word * P2) & MASK, 31n) * P1) & MASK;

/** The inverse of an odd number modulo 2^64, by Newton's iteration. */
function inverse(odd: bigint): bigint {
  let found = odd;
  for (let step = 0; step < 6; step++) found = (found * (2n - ((odd * found) & MASK))) & MASK;
  return found & MASK;
}

/** The 64 bits of a hash. */
const hashBits = (hash: NodeHash): bigint =>
  [...hash].reduce((bits, digit) => bits * 32n + BigInt('0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(digit)), 0n);

const wordAt = (bytes: Buffer, at: number): bigint => bytes.readBigUInt64LE(at);
const isPrintable = (word: bigint): boolean => [...wordBytes(word)].every((byte) => byte >= 0x20 && byte < 0x7f);

function wordBytes(word: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(word & MASK);
  return bytes;
}

/** Printable words, one after the other. */
function* words(seed: number): Generator<bigint> {
  for (let count = seed; ; count++) yield wordAt(Buffer.from(count.toString(36).padStart(8, '~')), 0);
}

/** The bytes that the hash of a content node of this text is made of, where the text has 24 to 255 ASCII characters. */
function input(text: string): Buffer {
  const head = [
    Buffer.from(builtIn.content),
    Buffer.from([0xa1, 0x64]),
    Buffer.from('text'),
    Buffer.from([0x78, text.length]),
  ];
  return Buffer.concat([...head, Buffer.from(text)]);
}

/** Two texts of one hash: in the same lane the second word undoes what the first one changed. */
export function collidingTexts(): [string, string] {
  const before = input('x'.repeat(128));
  const textAt = before.length - 128;
  const lane = round((P1 + P2) & MASK, wordAt(before, 0));
  const first = wordAt(before, 32);
  const second = wordAt(before, 64);
  for (const other of words(1)) {
    const undo = (second + (round(lane, first) - round(lane, other)) * inverse(P2)) & MASK;
    if (!isPrintable(undo)) continue;
    const forged = Buffer.from(before);
    forged.set(wordBytes(other), 32);
    forged.set(wordBytes(undo), 64);
    return [before, forged].map((bytes) => bytes.subarray(textAt).toString('latin1')) as [string, string];
  }
  throw new Error('words never end');
}

/**
 * A content node that links to another and has the hash that is asked for: the last word of its text is worked out.
 *
 * @returns its payload
 */
export function contentOfHash(wanted: NodeHash, ref: NodeHash): { refs: NodeHash[]; text: string } {
  // refs before text, by the order of their encoded keys: the text is what the input ends with.
  const prefix = Buffer.concat([
    Buffer.from(builtIn.content),
    Buffer.from([0xa2, 0x64]),
    Buffer.from('refs'),
    Buffer.from([0x81, 0x6d]),
    Buffer.from(ref),
    Buffer.from([0x64]),
    Buffer.from('text'),
    Buffer.from([0x78, 0]),
  ]);
  // So that the last word of the text is a whole word of what is left after the lanes, and the only one.
  const total = Math.ceil((prefix.length + 24) / 32) * 32 + 8;
  prefix[prefix.length - 1] = total - prefix.length;
  for (const filler of words(7)) {
    const filling = Buffer.alloc(total - prefix.length - 8, wordBytes(filler));
    const word = lastWord(Buffer.concat([prefix, filling]), total, hashBits(wanted));
    if (!isPrintable(word)) continue;
    const payload = { refs: [ref], text: Buffer.concat([filling, wordBytes(word)]).toString('latin1') };
    if (hashNode(builtIn.content, payload) !== wanted) throw new Error('the hash was not worked out rightly');
    return payload;
  }
  throw new Error('words never end');
}

/** The word that has to follow whole stripes for the hash to come out as it is wanted. */
function lastWord(stripes: Buffer, total: number, wanted: bigint): bigint {
  const lanes = [(P1 + P2) & MASK, P2, 0n, (0n - P1) & MASK];
  for (let at = 0; at < stripes.length; at += 32) {
    for (let lane = 0; lane < 4; lane++) lanes[lane] = round(lanes[lane]!, wordAt(stripes, at + 8 * lane));
  }
  let hash = [1n, 7n, 12n, 18n].reduce((sum, by, lane) => (sum + rotate(lanes[lane]!, by)) & MASK, 0n);
  for (const lane of lanes) hash = ((hash ^ round(0n, lane)) * P1 + P4) & MASK;
  hash = (hash + BigInt(total)) & MASK;
  let after = wanted;
  after ^= after >> 32n;
  after = (after * inverse(P3)) & MASK;
  after ^= (after >> 29n) ^ (after >> 58n);
  after = (after * inverse(P2)) & MASK;
  after ^= after >> 33n;
  const mixed = rotate(((after - P4) * inverse(P1)) & MASK, 64n - 27n) ^ hash;
  const laneWord = rotate((mixed * inverse(P1)) & MASK, 64n - 31n);
  return (laneWord * inverse(P2)) & MASK;
}
