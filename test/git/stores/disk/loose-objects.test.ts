import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import { CorruptObject, ObjectTooLarge } from '../../../../src/git/format/errors.ts';
import { parseObjectId } from '../../../../src/git/format/object-id.ts';
import { hasLooseObject, readLooseObject } from '../../../../src/git/stores/disk/open-disk-stores.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder, createTemporaryRepository, runGit } from '../../../helpers/temporary-repository.ts';

const id = parseObjectId('ab'.repeat(20));
let folder: string;

beforeEach(() => {
  folder = createTemporaryFolder();
});

const path = (): string => join(folder, 'ab', 'ab'.repeat(19));

function write(bytes: Uint8Array): void {
  mkdirSync(dirname(path()), { recursive: true });
  writeFileSync(path(), bytes);
}

test('a loose object that git wrote is read: of each type, empty, and large', () => {
  const { dir, git } = createTemporaryRepository({ bare: true });
  const texts = { empty: '', short: 'a reply\n', large: 'a long reply\n'.repeat(20_000) };
  for (const text of Object.values(texts)) {
    const blob = parseObjectId(runGit(dir, ['hash-object', '-w', '--stdin'], text));
    expect(hasLooseObject(join(dir, 'objects'), blob)).toBe(true);
    const object = readLooseObject(join(dir, 'objects'), blob, Infinity);
    expect([object?.type, Buffer.from(object?.data ?? []).toString()]).toEqual(['blob', text]);
  }
  const tree = git('mktree');
  const commit = git('commit-tree', '-m', 'one', tree);
  git('tag', '-a', '-m', 'two', 'v1', commit);
  for (const [type, name] of [
    ['tree', tree],
    ['commit', commit],
    ['tag', git('rev-parse', 'v1')],
  ] as const) {
    const object = readLooseObject(join(dir, 'objects'), parseObjectId(name), 1000);
    expect(object?.type).toBe(type);
    expect(Buffer.from(object?.data ?? []).toString()).toBe(
      runGit(dir, ['cat-file', type, name]) + (type === 'tree' ? '' : '\n'),
    );
  }
});

test('an object that is not there is none; a file in place of its folder holds none', () => {
  expect(readLooseObject(folder, id, 1000)).toBeUndefined();
  expect(hasLooseObject(folder, id)).toBe(false);
  writeFileSync(join(folder, 'ab'), '');
  expect(readLooseObject(folder, id, 1000)).toBeUndefined();
  expect(hasLooseObject(folder, id)).toBe(false);
  rmSync(join(folder, 'ab'));
  failFs('openSync', { code: 'EACCES' });
  expect(() => readLooseObject(folder, id, 1000)).toThrow('EACCES');
});

test('the file is closed again, also where it is damaged', () => {
  write(Buffer.from('damaged'));
  let [opened, closed] = [0, 0];
  failFs('openSync', { code: 'never', where: (file) => (file === path() && (opened += 1), false) });
  failFs('closeSync', { code: 'never', where: () => ((closed += 1), false) });
  expect(() => readLooseObject(folder, id, 1000)).toThrow(CorruptObject);
  expect([opened, closed]).toEqual([1, 1]);
});

describe('a limit', () => {
  beforeEach(() => write(deflateSync('blob 7\0a reply')));

  test('is what the object may have, not more', () => {
    expect(readLooseObject(folder, id, 7)?.data).toEqual(Buffer.from('a reply'));
    expect(() => readLooseObject(folder, id, 6)).toThrow(ObjectTooLarge);
    expect(() => readLooseObject(folder, id, 6)).toThrow(
      expect.objectContaining({ id, bytes: 7, maxBytes: 6, type: 'blob' }),
    );
  });

  test('comes before all that inflates: a forged size takes no memory', () => {
    write(deflateSync(`blob ${2 ** 45}\0`));
    expect(() => readLooseObject(folder, id, 1000)).toThrow(ObjectTooLarge);
    expect(() => readLooseObject(folder, id, Infinity)).toThrow(ObjectTooLarge);
    write(deflateSync('blob 1000000\0'));
    expect(() => readLooseObject(folder, id, Infinity)).toThrow('its file is too short for 1000000 bytes');
  });
});

test.each([
  ['nothing', Buffer.alloc(0), 'its file does not start with a header'],
  ['no zlib stream', Buffer.from('blob 7\0a reply'), 'its file does not start with a header'],
  ['another type', deflateSync('text 7\0a reply'), 'its file does not start with a header'],
  ['text before its header', deflateSync(' blob 7\0a reply'), 'its file does not start with a header'],
  ['a size with a zero before', deflateSync('blob 07\0a reply'), 'its file does not start with a header'],
  ['no end of its header', deflateSync('blob 7'), 'its file does not start with a header'],
  ['less than it says', deflateSync('blob 8\0a reply'), 'its file is too-short'],
  ['more than it says', deflateSync('blob 6\0a reply'), 'its file is too-long'],
  ['no end', deflateSync('blob 7\0a reply').subarray(0, -3), 'its file is truncated'],
])('a file with %s is a corrupt object', (_, bytes, reason) => {
  write(bytes);
  expect(() => readLooseObject(folder, id, Infinity)).toThrow(CorruptObject);
  expect(() => readLooseObject(folder, id, Infinity)).toThrow(expect.objectContaining({ id, reason }));
});
