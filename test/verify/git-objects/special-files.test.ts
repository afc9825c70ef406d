import { describe, expect, test } from 'vitest';
import { faultOfSpecialFile, MAX_SPECIAL_BYTES } from '../../../src/verify/git-objects/special-files.ts';

const inModules = (text: string): string | undefined => faultOfSpecialFile('gitmodules', Buffer.from(text));
const url = (value: string): string | undefined => inModules(`[submodule "a"]\n\turl = ${value}\n`);
const path = (value: string): string | undefined => inModules(`[submodule "a"]\n\tpath = ${value}\n`);

describe('a file of submodules', () => {
  test.each([
    '',
    '[submodule "a"]\n\tpath = a\n\turl = https://example.org/a\n\tupdate = merge\n',
    '[submodule "a/..b"]\n\tpath = a-x\n',
    '[submodule.a]\n[Submodule "b"] path = b\n',
    '[core]\n\teditor = -x\n\tmyurl = -x\n',
    '# [submodule ".."]\n',
  ])('may hold %j', (text) => {
    expect(inModules(text)).toBeUndefined();
  });

  test.each<[string, string]>([
    ['[submodule ".."]', '..'],
    ['[submodule "a/../b"]', 'a/../b'],
    ['[submodule "a\\\\..\\\\b"]', 'a\\..\\b'],
    ['[submodule ""]', ''],
    ['  [  SUBMODULE   "../a"  ]', '../a'],
    ['[submodule "\\../a"]', '../a'],
    ['[submodule.../a]', '../a'],
    ['[submodule "a"]\r\n[submodule ".."]\r\n', '..'],
  ])('may not name a submodule as %j does', (text, name) => {
    expect(inModules(text)).toBe(`it names a submodule ${JSON.stringify(name)}`);
  });

  test.each([
    'https://example.org/a',
    'HTTP://example.org',
    'ftp::https://example.org',
    'ssh://example.org/a',
    'git@example.org:a',
    '../a',
    '../../a/b:c',
    './a//b',
    'a:b',
    '"https://example.org/#a;b"',
    'https://example.org/a # -x',
    'https://example.org/a ; -x',
  ])('may have the url %s', (value) => {
    expect(url(value)).toBeUndefined();
  });

  test.each<[string, string]>([
    ['-x', '-x'],
    ['"-x"', '-x'],
    ['\\-x', '-x'],
    ['', ''],
    ['# a comment', ''],
    ['; a comment', ''],
    ['"a\\nb"', 'a\nb'],
    ['"a\\tb"', 'a\tb'],
    ['"a\\bb"', 'a\bb'],
    ['a%0Ab', 'a%0Ab'],
    ['a%0db', 'a%0db'],
    ['../:a', '../:a'],
    ['.././/../:a', '.././/../:a'],
    ['http://', 'http://'],
    ['https:///a', 'https:///a'],
    ['https:a', 'https:a'],
    ['ftp://', 'ftp://'],
    ['ext::https://', 'ext::https://'],
    ['http://[', 'http://['],
  ])('may not have the url %s', (value, told) => {
    expect(url(value)).toBe(`it has the url ${JSON.stringify(told)}`);
  });

  test.each<[string, string]>([
    ['-x', '-x'],
    ['"-x"', '-x'],
    ['\\\n-x', '-x'],
    ['\\\r\n-x', '-x'],
    [`-${'x'.repeat(200)}`, `-${'x'.repeat(99)}`],
  ])('may not have the path %j', (value, told) => {
    expect(path(value)).toBe(`it has the path ${JSON.stringify(told)}`);
  });

  test.each(['a', '"#-x"', '# -x', '"a" -x', '!a'])('may have the path %j', (value) => {
    expect(path(value)).toBeUndefined();
  });

  test('may not run a program to update', () => {
    for (const text of ['update=!sh', 'UPDATE = "!sh"', '[submodule "a"] update = !sh']) {
      expect(inModules(text)).toBe('it has the update "!sh"');
    }
    expect(inModules('update = -x')).toBeUndefined();
  });
});

test('a file of attributes has no line that git does not read', () => {
  const attributes = (text: string): string | undefined => faultOfSpecialFile('gitattributes', Buffer.from(text));
  expect(attributes(`a\n${'x'.repeat(2047)}\nb\n`)).toBeUndefined();
  expect(attributes(`a\n${'x'.repeat(2048)}\nb\n`)).toBe('it has a line of more than 2048 bytes');
  expect(attributes('[submodule ".."]')).toBeUndefined();
});

test('a special file has at most a mebibyte', () => {
  expect(MAX_SPECIAL_BYTES).toBe(1_048_576);
});
