import { expect, test, vi } from 'vitest';
import { applyDelta, readDeltaSizes } from '../../../../src/git/stores/disk/apply-delta.ts';

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
  ['that makes less than it says', [...size(14), ...size(5), 0x90, 4]],
  ['that makes more than it says', [...size(14), ...size(3), 0x90, 4]],
  ['that copies from beyond its base', [...size(14), ...size(4), 0x91, 11, 4]],
  ['with an instruction that git reserves', [...size(14), ...size(0), 0]],
  ['whose size does not end', [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0]],
])('a delta %s gives nothing', (_, bytes) => {
  expect(applyDelta(base, Buffer.from(bytes))).toBeUndefined();
});
