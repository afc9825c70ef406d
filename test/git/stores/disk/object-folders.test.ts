import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { findObjectFolders } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { createTemporaryRepository, isolatedGitEnvironment } from '../../../helpers/temporary-repository.ts';

let dir: string;
const at = (path: string): string => join(dir, path);

beforeEach(() => {
  ({ dir } = createTemporaryRepository({ bare: true }));
});

/** Makes folders of objects beside the repository's own, in a folder of the repository. */
function make(...names: string[]): void {
  for (const name of names) mkdirSync(at(`${name}/info`), { recursive: true });
}

function write(folder: string, alternates: string): void {
  mkdirSync(at(`${folder}/info`), { recursive: true });
  writeFileSync(at(`${folder}/info/alternates`), alternates);
}

/** The alternates that git uses, and uwf; both in their order. */
function alternates(env: Record<string, string> = {}): string[] {
  const { stdout, status } = spawnSync('git', ['count-objects', '-v'], {
    cwd: dir,
    env: { ...isolatedGitEnvironment, ...env },
    encoding: 'utf8',
  });
  expect(status).toBe(0);
  const byGit = [...stdout.matchAll(/^alternate: (.*)$/gm)].map(([, path = '']) =>
    realpathSync(path.startsWith('"') ? (JSON.parse(path) as string) : path),
  );
  const [own, ...byUwf] = findObjectFolders(dir, env);
  expect(own).toBe(env['GIT_OBJECT_DIRECTORY'] ?? at('objects'));
  expect(byUwf).toEqual(byGit);
  return byUwf.map((path) => path.slice(dir.length + 1));
}

describe('the alternates of a repository, beside git', () => {
  test('are none without a file', () => {
    expect(alternates()).toEqual([]);
  });

  test('are the paths in info/alternates, absolute or beside the folder, that exist, each once', () => {
    make('a', 'b', 'c', 'd#', 'q"q"');
    symlinkSync('b', at('link'));
    write(
      'objects',
      `${at('b')}\n\n# ${at('c')}\n../a\n${at('none')}\n../link\n../b/../b\n${at('objects')}\n${at('d#')}\n${at('q"q"')}`,
    );
    expect(alternates()).toEqual(['b', 'a', 'd#', 'q"q"']);
  });

  test('may be quoted as in C', () => {
    const odd = [
      'with "quotes"',
      'back\\slash',
      'tab\there',
      'plain',
      'bell\x07',
      'a\bb',
      'a\fb',
      'a\nb',
      'a\rb',
      'a\vb',
      'käse',
      '\u{1F600}',
    ];
    make(...odd);
    const escaped = [
      'with \\"quotes\\"',
      'back\\\\slash',
      'tab\\there',
      'pl\\141in',
      'bell\\a',
      'a\\bb',
      'a\\fb',
      'a\\nb',
      'a\\rb',
      'a\\vb',
      'k\\303\\244se',
      '\u{1F600}',
    ];
    const quoted = escaped.map((name) => `"${dir}/${name}"\n`);
    write('objects', quoted.join(''));
    expect(findObjectFolders(dir, {}).slice(1)).toEqual(odd.map(at));
    write('objects', quoted.slice(0, 1).join(''));
    expect(alternates()).toEqual(['with "quotes"']);
  });

  test('have alternates of their own, five of them in a chain', () => {
    for (let number = 1; number <= 9; number += 1) write(`a${number}`, `../a${number + 1}\n`);
    make('a10');
    write('objects', `${at('a1')}\n`);
    const found = alternates();
    expect(found[0]).toBe('a1');
    expect(found.at(-1)).toBe(`a${found.length}`);
  });

  test('can lead to each other', () => {
    write('a', `${at('b')}\n`);
    write('b', `${at('a')}\n${at('objects')}\n`);
    write('objects', `${at('a')}\n`);
    expect(alternates()).toEqual(['a', 'b']);
  });

  test('can be in the environment: a list with colons, before those of the file', () => {
    make('a', 'b', 'c', 'd:e');
    write('objects', `${at('c')}\n`);
    expect(alternates({ GIT_ALTERNATE_OBJECT_DIRECTORIES: `${at('b')}:${at('none')}::${at('a')}` })).toEqual([
      'b',
      'a',
      'c',
    ]);
    expect(alternates({ GIT_ALTERNATE_OBJECT_DIRECTORIES: `"${at('d:e')}":${at('a')}` })).toEqual(['d:e', 'a', 'c']);
  });

  test('are those of the folder that the environment names', () => {
    make('a', 'b');
    write('moved', `../a\n`);
    write('objects', `../b\n`);
    expect(alternates({ GIT_OBJECT_DIRECTORY: at('moved') })).toEqual(['a']);
    expect(findObjectFolders(dir, { GIT_OBJECT_DIRECTORY: '' })).toEqual([at('objects'), at('b')]);
  });
});
