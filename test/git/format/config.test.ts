import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { configBoolean, findConfigEntry, InvalidGitConfig, parseGitConfig } from '../../../src/git/format/config.ts';
import { createTemporaryFolder, runGit } from '../../helpers/temporary-repository.ts';

/** What git reads from the same text: `section.sub.key\nvalue` per variable. `undefined` where it stops. */
function askGit(folder: string, text: string): string[] | undefined {
  const file = join(folder, 'config');
  writeFileSync(file, text);
  try {
    const output = runGit(folder, ['config', '--file', file, '--list', '-z']);
    return output.split('\0').slice(0, -1).map(withPlainSpaces);
  } catch {
    return undefined;
  }
}

/** Up to 2.44 git made spaces of tabs inside values; later ones keep them, as we do. */
const withPlainSpaces = (text: string): string => text.replaceAll('\t', ' ');

function ours(text: string): string[] | undefined {
  try {
    return parseGitConfig(text, 'config').map((entry) => {
      const name = entry.name.replace(/^\./, '');
      return withPlainSpaces(entry.value === undefined ? name : `${name}\n${entry.value}`);
    });
  } catch (error) {
    if (error instanceof InvalidGitConfig) return undefined;
    throw error;
  }
}

const sample = `\ufeff# a comment
before = any section
[core]
\trepositoryformatversion = 0
\tbare = false ; and another
  Ignorecase
[remote "Origin with \\"quotes\\" and \\\\"] url = "  kept  " # not this
\tfetch = +refs/heads/*:refs/remotes/origin/*
\tempty =
\tlong = one \\
two  \t three \t
[Section.SubSection]
a = "x;y" z\\n\\t\\"end\\\\
b="#"  tail
`;

describe("git's configuration format", () => {
  test('is read as git reads it', () => {
    const folder = createTemporaryFolder();
    expect(askGit(folder, sample)).toHaveLength(10);
    expect(ours(sample)).toEqual(askGit(folder, sample));
    const windows = sample.replaceAll('\n', '\r\n');
    expect(ours(windows)).toEqual(askGit(folder, windows));
  });

  test.each([
    '[core',
    '[core "sub]\na = b',
    '[core] 1key = x',
    '[core]\nkey value',
    '[core]\nkey = "open',
    '[core]\nkey = "open\n"',
    '[core]\nkey = bad \\q escape',
    '[]',
    '[co re]',
    '[core "a\\\nb"]',
    '[core]\n= x',
    '[core]\nkey_with_underscore = x',
    '[core]x[a]y=z',
  ])('is refused where git refuses it: %j', (text) => {
    expect(askGit(createTemporaryFolder(), text)).toBeUndefined();
    expect(() => parseGitConfig(text, 'the/config')).toThrow(InvalidGitConfig);
    expect(() => parseGitConfig(text, 'the/config')).toThrow('the/config:');
  });

  test('is read as git reads it, whatever the text', () => {
    const folder = createTemporaryFolder();
    const piece = fc.constantFrom(
      '[core]',
      '[a "b"]',
      '[A.b]',
      '\n',
      '\n',
      ' ',
      '\t',
      'key',
      '=',
      'v',
      '"',
      '\\',
      '\\n',
      '\\\n',
      '#',
      ';',
      'x y',
      '\r\n',
      ']',
      '[',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const text = pieces.join('');
        expect([text, ours(text)]).toEqual([text, askGit(folder, text)]);
      }),
      { numRuns: 300 },
    );
  });

  test('gives the last of several values, and booleans as git does', () => {
    const entries = parseGitConfig(
      '[core]\na = no\na = yes\nb\nc =\nd = 0\ne = 2k\nf = maybe\n[core "sub"]\na = no\n',
      'config',
    );
    const read = (key: string): boolean | undefined => configBoolean(findConfigEntry(entries, `core.${key}`), 'config');
    expect(['a', 'b', 'c', 'd', 'e', 'z'].map(read)).toEqual([true, true, false, false, true, undefined]);
    expect(() => read('f')).toThrow("config:8: 'maybe' is not a boolean");
  });
});
