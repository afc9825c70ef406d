import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CorruptObject, UnwritableObject } from '../../../src/git/format/errors.ts';
import { hashObject, parseObjectId } from '../../../src/git/format/object-id.ts';
import { encodeTree, parseTree, type TreeEntry, type TreeMode } from '../../../src/git/format/objects.ts';
import { createTemporaryRepository, expectCleanFsck, runGit } from '../../helpers/temporary-repository.ts';

const id = parseObjectId('e69de29bb2d1d6434b8b29ae775ad8c2e48c5391');
const entry = (name: string, mode: TreeMode = '100644'): TreeEntry => ({ mode, name, id });

/** Names with what makes sorting hard: prefixes of each other, characters around '/', several bytes. */
const name = fc
  .string({ unit: fc.constantFrom('a', 'b', '.', '-', '0', '/', 'é', '\u{1f600}', ' '), minLength: 1, maxLength: 6 })
  .map((text) => text.replaceAll('/', '~'))
  .filter((text) => text !== '.' && text !== '..');
const entries = fc.uniqueArray(
  fc.record({
    name,
    mode: fc.constantFrom<TreeMode>('100644', '100755', '120000', '040000', '160000'),
    id: fc
      .uint8Array({ minLength: 20, maxLength: 20 })
      .map((bytes) => parseObjectId(Buffer.from(bytes).toString('hex'))),
  }),
  { selector: (each) => each.name, maxLength: 8 },
);

describe('a tree', () => {
  test('is encoded as git mktree encodes it', () => {
    const { dir } = createTemporaryRepository();
    fc.assert(
      fc.property(entries, (list) => {
        const types = { '040000': 'tree', '160000': 'commit' } as Record<string, string>;
        const lines = list.map((each) => `${each.mode} ${types[each.mode] ?? 'blob'} ${each.id}\t${each.name}\0`);
        const expected = runGit(dir, ['mktree', '-z', '--missing'], lines.join(''));
        expect(hashObject({ type: 'tree', data: encodeTree(list) })).toBe(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('reads back as the entries it was made of', () => {
    fc.assert(
      fc.property(entries, (list) => {
        const byName = (a: TreeEntry, b: TreeEntry): number => (a.name < b.name ? -1 : 1);
        expect(parseTree(encodeTree(list)).toSorted(byName)).toEqual(list.toSorted(byName));
      }),
    );
  });

  test('sorts a folder as if its name ended in a slash', () => {
    const names = parseTree(encodeTree([entry('a', '040000'), entry('a.b'), entry('a0'), entry('a-b')])).map(
      (each) => each.name,
    );
    expect(names).toEqual(['a-b', 'a.b', 'a', 'a0']);
  });

  test.each([
    ['', 'has no name'],
    ['a/b', "holds a '/'"],
    ['a\0b', 'holds a NUL'],
    ['.', 'would be a folder'],
    ['..', 'would be a folder'],
    ['\ud800', 'not well-formed'],
    ['.git', '.git'],
    ['.GIT', '.git'],
    ['.g\u200cit', '.git'],
    ['git~1', '.git'],
    ['.git. .', '.git'],
    ['.git::$INDEX_ALLOCATION', '.git'],
    ['x\\.git', '.git'],
  ])('refuses the name %j', (bad, reason) => {
    expect(() => encodeTree([entry(bad)])).toThrow(UnwritableObject);
    expect(() => encodeTree([entry(bad)])).toThrow(reason);
  });

  test('takes names that only resemble .git', () => {
    const { dir, git } = createTemporaryRepository();
    git('hash-object', '-w', '-t', 'blob', '/dev/null');
    const data = encodeTree(['.gitx', 'git', '.git-', 'git~2', '.gitignore', '. git'].map((each) => entry(each)));
    runGit(dir, ['hash-object', '-w', '-t', 'tree', '--stdin'], data);
    expectCleanFsck(dir);
    expect(parseTree(data)).toHaveLength(6);
  });

  test('refuses a name that is there twice, be it as a file and a folder', () => {
    expect(() => encodeTree([entry('a'), entry('a')])).toThrow('is there twice');
    expect(() => encodeTree([entry('a'), entry('a.x'), entry('a', '040000')])).toThrow('is there twice');
  });

  const raw = (...parts: (string | Buffer)[]): Buffer =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
  const idBytes = Buffer.from(id, 'hex');

  test.each([
    ['cut in the id', raw('100644 a\0', idBytes.subarray(0, 19)), 'truncated'],
    ['cut in the name', raw('100644 a'), 'truncated'],
    ['an unknown mode', raw('100600 a\0', idBytes), 'unknown mode'],
    ['a mode with a leading zero', raw('040000 a\0', idBytes), 'unknown mode'],
    ['no name', raw('100644 \0', idBytes), 'has no name'],
    ['a path for a name', raw('100644 a/b\0', idBytes), "holds a '/'"],
    ['.git', raw('40000 .git\0', idBytes), '.git'],
    ['bytes that are no UTF-8', raw('100644 ', Buffer.from([0xff]), '\0', idBytes), 'not UTF-8'],
    ['wrong order', raw('100644 b\0', idBytes, '100644 a\0', idBytes), 'not in order'],
    ['a duplicate', raw('100644 a\0', idBytes, '100644 a\0', idBytes), 'twice'],
  ])('that has %s is corrupt', (_what, data, reason) => {
    expect(() => parseTree(data)).toThrow(CorruptObject);
    expect(() => parseTree(data)).toThrow(reason);
    expect(() => parseTree(data)).toThrow(hashObject({ type: 'tree', data }));
  });

  test('that is random bytes is either read or called corrupt', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (data) => {
        try {
          expect(Buffer.from(encodeTree(parseTree(data)))).toEqual(Buffer.from(data));
        } catch (error) {
          expect(error).toBeInstanceOf(CorruptObject);
        }
      }),
    );
  });
});
