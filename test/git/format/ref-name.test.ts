import { spawnSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InvalidRefName } from '../../../src/git/format/errors.ts';
import { isRefName, parseRefName } from '../../../src/git/format/refs.ts';

const gitAccepts = (name: string): boolean => spawnSync('git', ['check-ref-format', name]).status === 0;

describe('a ref name', () => {
  test('below refs/ is taken exactly when git check-ref-format takes it', () => {
    const unit = fc.constantFrom(
      'a',
      'B',
      '/',
      '.',
      '..',
      '.lock',
      '@',
      '{',
      '@{',
      '~',
      '^',
      ':',
      '?',
      '*',
      '[',
      '\\',
      ' ',
      '-',
      '\t',
      '\u007f',
      'é',
      '\u{1f600}',
    );
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 6 }), (parts) => {
        const name = `refs/${parts.join('')}`;
        expect([name, isRefName(name)]).toEqual([name, gitAccepts(name)]);
      }),
      { numRuns: 400 },
    );
  });

  test.each([
    'HEAD',
    'ORIG_HEAD',
    'FETCH_HEAD',
    'refs/heads/main',
    'refs/threads/01ARZ3NDEKTSV4RRFFQ69G5FAV',
    'refs/a./b',
    'refs/@',
  ])('may be %s', (name) => {
    expect(parseRefName(name)).toBe(name);
  });

  test.each([
    'main',
    'heads/main',
    'objects/pack/x',
    'config',
    'refs',
    'refs/',
    'refs/x.lock',
    'refs/x.lock/y',
    'refs/../config',
    'refs/a\nb',
    'refs/a\0b',
    'refs/\ud800',
    '../refs/x',
    '',
  ])('may not be %j', (name) => {
    expect(() => parseRefName(name)).toThrow(InvalidRefName);
  });
});
