import { describe, expect, test } from 'vitest';
import { readForeignTree } from '../../../src/verify/git-objects/tree-entries.ts';

const id = '1'.repeat(40);
const none = '0'.repeat(40);

function read(...lines: [mode: string, name: string, id?: string][]): ReturnType<typeof readForeignTree> {
  const parts = lines.map(([mode, name, of = id]) =>
    Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from([0]), Buffer.from(of, 'hex')]),
  );
  return readForeignTree(Buffer.concat(parts), 20);
}

describe('the entries of a tree', () => {
  test('are given with their kinds, and with the files that git reads', () => {
    const entry = (name: string, kind: string, special?: string): object => ({ name, kind, id, special });
    const sorted = read(
      ['100644', '.gitattributes'],
      ['100644', '.gitmodules'],
      ['40000', 'a'],
      ['100755', 'a0'],
      ['120000', 'b'],
      ['160000', 'c'],
      ['100644', 'x'.repeat(4096)],
      ['100644', 'ä'],
    );
    expect(sorted).toEqual([
      entry('.gitattributes', 'file', 'gitattributes'),
      entry('.gitmodules', 'file', 'gitmodules'),
      entry('a', 'folder'),
      entry('a0', 'file'),
      entry('b', 'link'),
      entry('c', 'submodule'),
      entry('x'.repeat(4096), 'file'),
      // Each byte is a character.
      entry('\xc3\xa4', 'file'),
    ]);
  });

  test('may be links, and ids may have zeros at an end', () => {
    expect(read(['120000', 'modules', `${'0'.repeat(39)}1`], ['100644', 'x', `1${'0'.repeat(39)}`])).toHaveLength(2);
  });

  test.each<[[string, string, string?][], string]>([
    [[['100664', 'a']], '\'a\' has the mode "100664"'],
    [[['100644', '']], "'' has no name"],
    [[['100644', 'x'.repeat(4097)]], `'${'x'.repeat(100)}…' has a name of more than 4096 bytes`],
    [[['100644', 'a/b']], "'a/b' holds a '/'"],
    [[['100644', `${'x'.repeat(99)}/`]], `'${'x'.repeat(99)}/' holds a '/'`],
    [[['100644', '.']], "'.' would be a folder of the file system"],
    [[['40000', '..']], "'..' would be a folder of the file system"],
    [[['40000', '.GIT']], "'.GIT' would be taken for '.git'"],
    [
      [
        ['100644', 'a'],
        ['40000', 'a'],
      ],
      "'a' is there twice",
    ],
    [
      [
        ['100644', 'b'],
        ['100644', 'a'],
      ],
      'its entries are not in order',
    ],
    [
      [
        ['40000', 'a'],
        ['100644', 'a.b'],
      ],
      'its entries are not in order',
    ],
    [[['100644', 'a', none]], "'a' is no object"],
    [[['120000', '.gitmodules']], "'.gitmodules' is a symbolic link"],
  ])('are told where they are wrong: %#', (lines, fault) => {
    expect(read(...lines)).toBe(fault);
  });

  test('are those of a whole tree', () => {
    expect(readForeignTree(Buffer.from('100644 a\0short'), 20)).toBe('it is cut off');
    expect(readForeignTree(Buffer.alloc(0), 20)).toEqual([]);
  });
});
