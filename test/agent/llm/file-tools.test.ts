import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import type { JsonObject } from '../../../src/json.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';
import { callTool, type ToolTurn } from './tool-turn.ts';

let outside: string;
let cwd: string;

beforeEach(() => {
  outside = temporaryFolder();
  cwd = join(outside, 'work');
  mkdirSync(cwd);
  writeFileSync(join(outside, 'secret'), 'a secret');
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(cwd, path)), { recursive: true });
  writeFileSync(join(cwd, path), text);
}

function run(name: string, input: JsonObject): Promise<ToolTurn> {
  return callTool(name, input, { cwd });
}

describe('read_file', () => {
  test('gives a text as it is', async () => {
    write('a/b.txt', 'one\ntwo\n');
    expect(await run('read_file', { path: 'a/b.txt' })).toMatchObject({ result: 'one\ntwo\n', isError: false });
    expect(await run('read_file', { path: join(cwd, 'a/b.txt') })).toMatchObject({ result: 'one\ntwo\n' });
  });

  test('gives a part, and says which', async () => {
    write('a', '1\n2\n3\n4\n');
    const { result } = await run('read_file', { path: 'a', offset: 2, limit: 2 });
    expect(result).toBe('2\n3\n[lines 2 to 3 of 4; go on with offset 4]');
    expect((await run('read_file', { path: 'a', offset: 9 })).result).toBe("'a' has 4 lines");
  });

  test.each([
    ['nothing', "there is no 'nothing'"],
    ['folder', "'folder' is a folder"],
    ['binary', 'is not a text'],
    ['latin1', "'latin1' is not a text in UTF-8; use a command that keeps its bytes, or convert it first"],
    ['pipe', 'is not a file'],
  ])('says of %s what is wrong', async (path, words) => {
    mkdirSync(join(cwd, 'folder'));
    write('binary', 'a\0b');
    writeFileSync(join(cwd, 'latin1'), 'caf\u00e9', 'latin1');
    execFileSync('mkfifo', [join(cwd, 'pipe')]);
    const { result, isError, refusals } = await run('read_file', { path });
    expect({ isError, refusals }).toEqual({ isError: true, refusals: [] });
    expect(result).toContain(words);
  });
});

describe('write_file and edit_file', () => {
  test('make and replace files, folders as needed', async () => {
    expect((await run('write_file', { path: 'a/b/c', content: 'ü' })).result).toBe('made a/b/c, 2 bytes');
    expect((await run('write_file', { path: 'a/b/c', content: 'x' })).result).toBe('replaced a/b/c, 1 bytes');
    expect(readFileSync(join(cwd, 'a/b/c'), 'utf8')).toBe('x');
  });

  test('replace one piece, which has to be there once', async () => {
    write('a', 'one two one $&');
    expect((await run('edit_file', { path: 'a', old: 'two', new: '$& 2' })).isError).toBe(false);
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('one $& 2 one $&');
    expect((await run('edit_file', { path: 'a', old: 'one', new: '1' })).result).toContain('2 times');
    expect((await run('edit_file', { path: 'a', old: 'three', new: '3' })).result).toContain(
      'does not have that piece',
    );
    await run('edit_file', { path: 'a', old: 'one', new: '1', all: true });
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('1 $& 2 1 $&');
  });

  test.each(['café\n', 'a\xff\xfeb\n'])('leave every byte of a file that is not UTF-8: %j', async (text) => {
    const bytes = Buffer.from(text, 'latin1');
    writeFileSync(join(cwd, 'a'), bytes);
    for (const input of [
      { path: 'a', old: '\n', new: '!' },
      { path: 'a', old: '�', new: '!', all: true },
    ]) {
      const { result, isError } = await run('edit_file', input);
      expect({ result, isError }).toEqual({ result: expect.stringContaining('is not a text in UTF-8'), isError: true });
    }
    // As a command's output shows it.
    const lossy = await run('write_file', { path: 'a', content: `${bytes.toString('utf8')}more\n` });
    expect(lossy).toMatchObject({ result: expect.stringContaining('is not a text in UTF-8'), isError: true });
    expect(readFileSync(join(cwd, 'a'))).toEqual(bytes);
    expect((await run('search', { pattern: text.slice(0, 1) })).result).toContain('a:1: ');
    expect((await run('write_file', { path: 'a', content: 'known\n' })).isError).toBe(false);
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('known\n');
  });

  test('keep a byte order mark, carriage returns and a � of the text itself', async () => {
    write('a', '\ufeffone\r\n� two\r\n');
    expect((await run('edit_file', { path: 'a', old: 'two', new: '2 �' })).isError).toBe(false);
    expect(readFileSync(join(cwd, 'a'), 'utf8')).toBe('\ufeffone\r\n� 2 �\r\n');
    expect((await run('write_file', { path: 'a', content: '�' })).isError).toBe(false);
  });

  test('write no half of a surrogate pair', async () => {
    write('a', 'smile 😀');
    const halves = await run('edit_file', { path: 'a', old: '\ud83d', new: 'x' });
    expect(halves).toMatchObject({ result: "'a' would not be a text in UTF-8", isError: true });
    expect((await run('write_file', { path: 'b', content: 'x\ude00' })).isError).toBe(true);
    expect([readFileSync(join(cwd, 'a'), 'utf8'), existsSync(join(cwd, 'b'))]).toEqual(['smile 😀', false]);
  });

  test.each(['.git/hooks/pre-commit', 'sub/.git/config', '.GIT/config'])('do not write %s', async (path) => {
    write('.git/config', '');
    const { isError, refusals } = await run('write_file', { path, content: '#!/bin/sh\n' });
    expect({ isError, refusals }).toEqual({ isError: true, refusals: [expect.stringContaining('belongs to git')] });
    expect(existsSync(join(cwd, '.git/hooks'))).toBe(false);
  });
});

describe('the working folder', () => {
  const ways: [string, string][] = [
    ['..', '../secret'],
    ['an absolute path', '<outside>/secret'],
    ['a folder beside with the same beginning', '../work-too/secret'],
    ['a link to a file', 'link'],
    ['a link to a folder', 'folder/secret'],
    ['a link over another', 'second/secret'],
    ['a link that leads to nothing yet', 'dangling'],
    ['a new file behind a link', 'folder/new'],
  ];

  beforeEach(() => {
    mkdirSync(join(outside, 'work-too'));
    symlinkSync(join(outside, 'secret'), join(cwd, 'link'));
    symlinkSync(outside, join(cwd, 'folder'));
    symlinkSync('folder', join(cwd, 'second'));
    symlinkSync(join(outside, 'made'), join(cwd, 'dangling'));
  });

  for (const name of ['read_file', 'write_file', 'edit_file', 'list', 'search']) {
    test.each(ways)(`${name} does not leave it by %s`, async (_, way) => {
      const path = way.replace('<outside>', outside);
      const rest: JsonObject =
        {
          write_file: { content: 'changed' },
          edit_file: { old: 'secret', new: 'changed' },
          search: { pattern: 'secret' },
        }[name] ?? {};
      const { result, isError, refusals } = await run(name, { path, ...rest });
      expect(isError, result).toBe(true);
      expect(result).not.toContain('a secret');
      expect(refusals).toEqual([expect.stringMatching(/outside the working folder|leads nowhere/u)]);
      expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('a secret');
      for (const made of ['made', 'new', 'work-too/secret']) expect(existsSync(join(outside, made))).toBe(false);
    });
  }

  test('a link that stays inside is followed', async () => {
    write('real', 'inside');
    symlinkSync('real', join(cwd, 'inner'));
    expect(await run('read_file', { path: 'inner' })).toMatchObject({ result: 'inside', refusals: [] });
  });

  test('a link to a file inside that is not there yet is written where it points, and not read', async () => {
    symlinkSync('new/file', join(cwd, 'ahead'));
    symlinkSync('.git/hooks/pre-commit', join(cwd, 'to-git'));
    symlinkSync('circle', join(cwd, 'circle'));
    for (const [name, input] of Object.entries({
      read_file: {},
      edit_file: { old: 'a', new: 'b' },
      list: {},
      search: { pattern: 'a' },
    })) {
      const path = { path: 'ahead' };
      expect(await run(name, { ...path, ...input })).toMatchObject({ result: "there is no 'ahead'", refusals: [] });
    }
    const inGit = await run('write_file', { path: 'to-git', content: '#!/bin/sh' });
    expect(inGit.refusals).toEqual([expect.stringContaining('belongs to git')]);
    const circle = await run('write_file', { path: 'circle', content: 'x' });
    expect(circle).toMatchObject({ result: "'circle' is a link that leads to itself", isError: true });
    expect((await run('write_file', { path: 'ahead', content: 'x' })).result).toBe('made new/file, 1 bytes');
    expect(readFileSync(join(cwd, 'new/file'), 'utf8')).toBe('x');
  });
});

describe('list and search', () => {
  test('list names what is there, folders with a slash, as deep as asked', async () => {
    write('b/c', '');
    write('a', '');
    write('node_modules/x/y', '');
    expect((await run('list', {})).result).toBe('a\nb/\nnode_modules/');
    expect((await run('list', { depth: 5 })).result).toBe('a\nb/\nb/c\nnode_modules/');
    expect((await run('list', { path: 'a' })).result).toContain('is not a folder');
  });

  test('search finds texts and expressions, line by line', async () => {
    write('a.ts', 'let x = 1;\nlet y = (2);\n');
    write('b.md', 'LET it be (2)\n');
    write('.git/x', 'let');
    expect((await run('search', { pattern: '(2)' })).result).toBe('a.ts:2: let y = (2);\nb.md:1: LET it be (2)');
    expect(
      (await run('search', { pattern: '^let \\w', regex: true, ignoreCase: true })).result.split('\n'),
    ).toHaveLength(3);
    expect((await run('search', { pattern: 'let', extension: '.md', ignoreCase: true })).result).toBe(
      'b.md:1: LET it be (2)',
    );
    expect((await run('search', { pattern: 'nowhere' })).result).toBe('[nothing matches]');
    expect((await run('search', { pattern: '(', regex: true })).result).toContain('Invalid regular expression');
  });

  test('an expression that does not come to an end is stopped, and the turn goes on', async () => {
    write('a', `${'a'.repeat(40)}!`);
    const { result, isError } = await run('search', { pattern: '^(a+)+$', regex: true });
    expect(isError).toBe(true);
    expect(result).toContain('does not come to an end');
  });

  test('only so many lines are told', async () => {
    write('a', 'x\n'.repeat(500));
    const lines = (await run('search', { pattern: 'x' })).result.split('\n');
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toContain('there are more');
  });
});
