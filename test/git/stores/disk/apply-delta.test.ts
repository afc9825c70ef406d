import { expect, test, vi } from 'vitest';
import { applyDelta, readDeltaSizes } from '../../../../src/git/stores/disk/pack.ts';

/** A size as a delta holds it: seven bits a byte, the lowest first. */
function size(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return [...bytes, rest];
}

const base = Buffer.from('the base of it');

test('a delta copies from its base and inserts what is new', () => {
  const delta = Buffer.from([...size(14), ...size(7), 0x90, 4, 3, ...Buffer.from('end')]);
  expect(applyDelta(base, delta)?.toString()).toBe('the end');
});

/** A copy as gitformat-pack(5) encodes it: only the bytes of the offset and the length that are not zero. */
function copy(from: number, length: number): number[] {
  const parts = [from, from / 2 ** 8, from / 2 ** 16, from / 2 ** 24, length, length / 2 ** 8, length / 2 ** 16];
  const bytes = parts.map((part) => Math.floor(part) % 256);
  return [bytes.reduce((bits, byte, at) => (byte === 0 ? bits : bits | (1 << at)), 0x80), ...bytes.filter(Boolean)];
}

test.each([
  [0, 1],
  [1, 255],
  [0x0100, 0x0100],
  [0x0102, 0x01ff],
  [0x010000, 0x010000 + 1],
  [0x010203, 0x030201],
  [0x01000000, 0x020000],
  [0x01020304, 0x030405],
])('a delta copies from %i on %i bytes', (from, length) => {
  const large = Buffer.alloc(0x01000000 + 0x100000);
  for (let at = from; at < from + length; at += 1) large[at] = at % 251;
  const delta = [...size(large.length), ...size(length + 3), 1, 7, ...copy(from, length), 2, 8, 9];
  const made = applyDelta(large, Buffer.from(delta));
  expect(made?.equals(Buffer.concat([Buffer.of(7), large.subarray(from, from + length), Buffer.of(8, 9)]))).toBe(true);
});

test('a copy without a length is one of 64 KiB, as git writes it', () => {
  const large = Buffer.alloc(0x10000 + 1, 'a reply');
  const delta = Buffer.from([...size(large.length), ...size(0x10000), 0x81, 1]);
  expect(applyDelta(large, delta)?.equals(large.subarray(1))).toBe(true);
});

test('a delta can make nothing, and of nothing', () => {
  expect(applyDelta(base, Buffer.from([...size(14), 0]))).toEqual(Buffer.alloc(0));
  expect(applyDelta(Buffer.alloc(0), Buffer.from([0, 2, 2, 1, 2]))).toEqual(Buffer.of(1, 2));
});

test('sizes are read up to those that a number holds exactly', () => {
  const delta = Buffer.from([...size(2 ** 49 - 1), ...size(300), 1]);
  expect(readDeltaSizes(delta)).toEqual({ baseSize: 2 ** 49 - 1, resultSize: 300, instructionsAt: 9 });
  expect(readDeltaSizes(Buffer.from(size(14)))).toBeUndefined();
  expect(readDeltaSizes(Buffer.from([...size(14), 0x80]))).toBeUndefined();
  expect(readDeltaSizes(Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x01]))).toBeUndefined();
});

test.each([
  ['16 MiB for each of its bytes and more', 16 * 1024 * 1024 * 16],
  ['more than any memory has', 2 ** 45],
])('a delta that claims to make %s takes no memory', (_, claimed) => {
  const delta = Buffer.from([...size(14), ...size(claimed), 0x90, 4]);
  expect(readDeltaSizes(delta)?.resultSize).toBe(claimed);
  const allocate = vi.spyOn(Buffer, 'allocUnsafe');
  try {
    expect(applyDelta(base, delta)).toBeUndefined();
    expect(allocate).not.toHaveBeenCalled();
  } finally {
    allocate.mockRestore();
  }
});

test.each([
  ['for another base', [...size(13), ...size(4), 0x90, 4]],
  ['that is cut off', [...size(14), ...size(4), 0x90]],
  ['that is cut off in the text that it inserts', [...size(14), ...size(4), 4, 1, 2, 3]],
  ['that is cut off in a copy of nothing', [...size(14), ...size(0), 0xff, 0, 0, 0, 0]],
  ['that inserts more than it says', [...size(14), ...size(1), 2, 1, 2]],
  ['that makes less than it says', [...size(14), ...size(5), 0x90, 4]],
  ['that makes more than it says', [...size(14), ...size(3), 0x90, 4]],
  ['that copies from beyond its base', [...size(14), ...size(4), 0x91, 11, 4]],
  ['with an instruction that git reserves', [...size(14), ...size(0), 0]],
  ['whose size does not end', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]],
])('a delta %s gives nothing', (_, bytes) => {
  expect(applyDelta(base, Buffer.from(bytes))).toBeUndefined();
});
