import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { pathAsText, printedPath, quotePath } from '../../../src/git/format/paths.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';

/** Names that no file system has to hold: they are only put into an index. */
const names = [
  'plain name-._~',
  '"quoted"',
  '"',
  'back\\slash',
  'tab\tnew\nline\r\f\v\b\x07\x1b[31m\x7f',
  'caf\xe9',
  'caf\xc3\xa9',
  '\xff\xfe/\x80',
  '\xe4\xb8\xad\xe6\x96\x87',
];

/** What git prints for each name. */
function printedByGit(isQuotingAll: boolean): string[] {
  const { dir } = createTemporaryRepository();
  const git = (args: string[], input = Buffer.alloc(0)): Buffer =>
    spawnSync('git', args, { cwd: dir, env: isolatedGitEnvironment, input }).stdout;
  const blob = git(['hash-object', '-w', '--stdin']).toString().trim();
  return names.map((name) => {
    git(['read-tree', '--empty']);
    git(['update-index', '-z', '--index-info'], Buffer.from(`100644 ${blob}\t${name}\0`, 'latin1'));
    return git(['-c', `core.quotePath=${isQuotingAll}`, 'ls-files'])
      .toString('utf8')
      .slice(0, -1);
  });
}

describe('a path', () => {
  test('is quoted as git quotes it', () => {
    expect(names.map((name) => quotePath(name))).toEqual(printedByGit(true));
  });

  test('is quoted as git does without core.quotePath, but for bytes that are no text', () => {
    const isText = (printed: string): boolean => !printed.includes('\ufffd');
    const ours = names.map((name) => quotePath(name, false));
    const wanted = printedByGit(false);
    expect(ours.filter((_, at) => isText(wanted[at] ?? ''))).toEqual(wanted.filter(isText));
    expect(quotePath('caf\xe9', false)).toBe(String.raw`"caf\351"`);
    // A control sequence of one character, which some terminals obey.
    expect(quotePath('\xc2\x9b31m', false)).toBe(String.raw`"\302\23331m"`);
  });

  test('has a text of its own for programs, which prints as it does', () => {
    expect(pathAsText('caf\xc3\xa9')).toBe('café');
    expect(pathAsText('caf\xe9')).toBe(String.raw`"caf\351"`);
    const path = fc.string({ unit: fc.constantFrom('"', '\\', '3', '5', '1', '\xe9', '\xc3\xa9', '\n', 'a') });
    fc.assert(
      fc.property(path, path, (one, other) => {
        if (one !== other) expect(pathAsText(one)).not.toBe(pathAsText(other));
        for (const isQuotingAll of [true, false]) {
          const isQuoted = isQuotingAll || !isUtf8(one) || one.startsWith('"');
          expect(printedPath(pathAsText(one), isQuotingAll)).toBe(quotePath(one, isQuoted));
        }
      }),
    );
  });
});

function isUtf8(path: string): boolean {
  return Buffer.from(Buffer.from(path, 'latin1').toString('utf8')).toString('latin1') === path;
}
