import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRefName } from '../../../src/git/format/refs.ts';
import { matcherOf } from '../../../src/git/transport/git-output.ts';
import { type RefMapping, refMappingOf } from '../../../src/git/transport/remote.ts';

const prefixes = ['refs/heads/uwf/', 'refs/tags/u/', 'refs/heads/a/b/', 'refs/threads/', 'refs/uwf/', 'refs/x/'];

function mappingTo(prefix: string | undefined, remote = 'origin'): RefMapping | undefined {
  return refMappingOf([{ scope: 'local', name: 'remote.origin.uwfprefix', value: prefix }], remote);
}

const part = fc.constantFrom('heads', 'tags', 'threads', 'history', 'uwf', 'pull', 'claims', 'x', 'ü', 'refs', "q'");
const name = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => `refs/${parts.join('/')}`);
const setup = fc.record({ prefix: fc.constantFrom(...prefixes), name });

function isCommon(text: string): boolean {
  return /^refs\/(?:heads|tags)\//.test(text);
}

describe('the names of refs at a host that takes only branches and tags', () => {
  test('threads, claims and records are below the prefix; branches and tags keep their names', () => {
    const mapping = mappingTo('refs/heads/uwf/');
    expect(mapping?.there('refs/threads/x')).toBe('refs/heads/uwf/threads/x');
    expect(mapping?.there('refs/uwf/claims/x')).toBe('refs/heads/uwf/uwf/claims/x');
    expect(mapping?.there('refs/heads/main')).toBe('refs/heads/main');
    expect(mapping?.there('refs/tags/v1')).toBe('refs/tags/v1');
  });

  test('every name but that of a branch or tag below the prefix comes back', () => {
    fc.assert(
      fc.property(setup, ({ prefix, name: here }) => {
        const mapping = mappingTo(prefix);
        const there = mapping?.there(here) ?? '';
        expect(there.startsWith(prefix) || isCommon(here)).toBe(true);
        if (!(isCommon(here) && here.startsWith(prefix))) expect(mapping?.here(there)).toBe(here);
      }),
    );
  });

  test("what a host's ref is called here leads to that ref and no other", () => {
    fc.assert(
      fc.property(setup, ({ prefix, name: there }) => {
        const mapping = mappingTo(prefix);
        const here = mapping?.here(there);
        if (here !== undefined) expect(mapping?.there(here)).toBe(there);
        else expect(isCommon(there)).toBe(false);
      }),
    );
  });

  test.each([
    ['refs/threads/x', undefined],
    ['refs/heads/uwf', 'refs/heads/uwf'],
    ['refs/heads/uwfx/y', 'refs/heads/uwfx/y'],
    ['refs/heads/uwf/heads/main', 'refs/heads/uwf/heads/main'],
    ['refs/heads/uwf/tags/v1', 'refs/heads/uwf/tags/v1'],
    ['refs/heads/uwf/refs/heads/main', 'refs/refs/heads/main'],
    ['refs/pull/1/head', undefined],
    ['HEAD', undefined],
  ])('of a hostile host, %s is here %s', (there, here) => {
    expect(mappingTo('refs/heads/uwf/')?.here(there)).toBe(here);
  });

  test('a pattern asks for everything that it matches here', () => {
    const start = fc.constantFrom(
      '',
      'r',
      'refs/',
      'refs/h',
      'refs/heads/',
      'refs/heads/uwf/',
      'refs/threads/',
      'refs/u',
    );
    const pattern = fc.oneof(
      name,
      start.map((text) => `${text}*`),
    );
    fc.assert(
      fc.property(setup, pattern, ({ prefix, name: there }, asked) => {
        const mapping = mappingTo(prefix);
        const here = mapping?.here(there);
        if (here === undefined || !matcherOf([asked])(here)) return;
        expect(matcherOf(mapping?.patternsThere(asked) ?? [])(there)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('a ref to be changed has a name that git accepts', () => {
    expect(mappingTo('refs/heads/uwf/')?.refThere(parseRefName('refs/threads/x'))).toBe('refs/heads/uwf/threads/x');
  });
});

describe('the prefix that is configured', () => {
  test.each([
    undefined,
    'uwf/',
    'refs/',
    'refs/heads/',
    'refs/tags/',
    'refs/heads/uwf',
    'refs/heads/../x/',
    'refs//x/',
    'refs/heads/a b/',
    'refs/heads/-*/',
    'HEAD/',
    '/refs/heads/uwf/',
    ' refs/heads/uwf/',
  ])('must be a folder of refs: %j is refused', (prefix) => {
    expect(() => mappingTo(prefix)).toThrow(
      expect.objectContaining({
        code: 'invalid-uwf-prefix',
        kind: 'usage',
        hint: 'git config remote.origin.uwfPrefix refs/heads/uwf/',
      }),
    );
  });

  test('is that of its remote alone, the last one counts, and an empty one is none', () => {
    expect(mappingTo('refs/heads/uwf/', 'other')).toBeUndefined();
    expect(mappingTo('')).toBeUndefined();
    const values = ['refs/heads/a/', 'refs/heads/b/'];
    const set = values.map((value) => ({ scope: 'local', name: 'remote.origin.uwfprefix', value }));
    expect(refMappingOf(set, 'origin')?.prefix).toBe('refs/heads/b/');
  });
});
