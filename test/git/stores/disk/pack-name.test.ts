import { expect, test } from 'vitest';
import { isOwnPack, newPackName } from '../../../../src/git/stores/disk/pack-name.ts';

test.each([
  ['sha1', 40],
  ['sha256', 64],
] as const)('a pack of %s is named as git names packs, unique, and known as one of uwf', (format, digits) => {
  const names = Array.from({ length: 100 }, () => newPackName(format));
  expect(new Set(names).size).toBe(100);
  for (const name of names) {
    expect(name).toMatch(new RegExp(`^pack-[0-9a-f]{${digits}}$`));
    expect(isOwnPack(name)).toBe(true);
  }
  // The mark is "uwf" and a NUL; repositories have packs of this name, so it does not change.
  expect(names[0]).toContain(`pack-${Buffer.from('uwf\0').toString('hex')}`);
});

test('a pack of git is none of uwf', () => {
  expect(isOwnPack(`pack-${'ab'.repeat(20)}`)).toBe(false);
  expect(isOwnPack(`pack-ab75776600${'ab'.repeat(15)}`)).toBe(false);
  expect(isOwnPack('tmp_pack-75776600')).toBe(false);
});
