import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { pathName } from '../../src/cas/path-name.ts';

test.each([
  ['coder', 'coder'],
  ['a.b_c-1', 'a.b_c-1'],
  ['Bash', '%42ash'],
  ['.git', '%2Egit'],
  ['-x', '%2Dx'],
  ['a/b c', 'a%2Fb%20c'],
  ['50%', '50%25'],
  ['ö', '%C3%B6'],
  ['', '%'],
  ['..', '%2E.'],
])('%j becomes %j', (name, path) => {
  expect(pathName(name)).toBe(path);
});

test('a long name is cut and told apart by a digest', () => {
  const path = pathName('x'.repeat(300));
  expect(path).toMatch(/^x{160}%_[0-9a-f]{16}$/);
  expect(pathName('x'.repeat(301))).not.toBe(path);
  // The cut would fall into the middle of an escape.
  expect(pathName('xy' + 'ö'.repeat(100))).toMatch(/^xy(?:%C3%B6){26}%_[0-9a-f]{16}$/);
});

test('different names have different paths, even where case does not count, and none is more than one component', () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 80 });
  fc.assert(
    fc.property(name, name, (a, b) => {
      expect(pathName(a).toLowerCase() === pathName(b).toLowerCase()).toBe(a === b);
      expect(pathName(a)).toMatch(/^(?:[a-z0-9]|%)[a-z0-9._%A-F-]*$/);
    }),
  );
});
