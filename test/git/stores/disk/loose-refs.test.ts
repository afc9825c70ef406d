import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { BrokenRef } from '../../../../src/git/format/ref-errors.ts';
import { parseRefName } from '../../../../src/git/format/ref-name.ts';
import { hasLooseRef, listLooseRefs, readLooseRef } from '../../../../src/git/stores/disk/loose-refs.ts';
import type { RepositoryLocation } from '../../../../src/git/repository.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

const name = parseRefName('refs/heads/main');
const id = `0${'1'.repeat(39)}`;
let location: RepositoryLocation;

beforeEach(() => {
  const root = createTemporaryFolder();
  location = { gitDir: join(root, 'worktrees', 'one'), commonDir: root, workTree: undefined };
});

function write(path: string, content: string): void {
  const file = join(location.commonDir, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

describe('the file of a ref', () => {
  test.each([
    [`${id}\n`, { kind: 'id', id }],
    [id, { kind: 'id', id }],
    ['10'.repeat(20), { kind: 'id', id: '10'.repeat(20) }],
    [`${id} and more`, { kind: 'id', id }],
    [`${'aB'.repeat(20)}\n`, { kind: 'id', id: 'ab'.repeat(20) }],
    ['ref: refs/heads/other\n', { kind: 'symbolic', target: 'refs/heads/other' }],
    ['ref:refs/heads/other', { kind: 'symbolic', target: 'refs/heads/other' }],
    ['ref: \t refs/heads/other', { kind: 'symbolic', target: 'refs/heads/other' }],
  ])('may be %j', (content, expected) => {
    write(name, content);
    expect(readLooseRef(location, name)).toEqual(expected);
    expect(hasLooseRef(location, name)).toBe(true);
  });

  test.each([
    ['', 'its file is empty'],
    [`${'0'.repeat(40)}\n`, 'its file holds the id of no object'],
    [`x${id}\n`, 'its file holds neither an object id nor a ref'],
    [`${id.slice(1)}\n`, 'its file holds neither an object id nor a ref'],
    [`${id}x\n`, 'its file holds neither an object id nor a ref'],
    ['ref: bad..name\n', 'its file holds neither an object id nor a ref'],
    [' '.repeat(64 * 1024 + 1), 'its file has more than 65536 bytes'],
  ])('is broken where it is %j', (content, reason) => {
    write(name, content);
    expect(() => readLooseRef(location, name)).toThrow(BrokenRef);
    expect(() => readLooseRef(location, name)).toThrow(expect.objectContaining({ ref: name, reason }));
  });

  test.each(['EACCES', 'EPERM', 'EIO', 'ELOOP'])('is broken where it cannot be read: %s', (code) => {
    write(name, id);
    failFs('openSync', { code });
    const reason = code === 'ELOOP' ? 'its file is a link' : `its file cannot be read (${code})`;
    expect(() => readLooseRef(location, name)).toThrow(expect.objectContaining({ ref: name, reason }));
  });

  test('is an error of the process where that has too many files open', () => {
    write(name, id);
    failFs('openSync', { code: 'EMFILE' });
    expect(() => readLooseRef(location, name)).toThrow('EMFILE');
    expect(() => readLooseRef(location, name)).not.toThrow(BrokenRef);
  });

  test('is absent where there is nothing, a folder, or a file in place of its folder', () => {
    expect(readLooseRef(location, name)).toBeUndefined();
    expect(hasLooseRef(location, name)).toBe(false);
    write(`${name}/below`, id);
    expect(readLooseRef(location, name)).toBeUndefined();
    expect(readLooseRef(location, parseRefName(`${name}/below/that`))).toBeUndefined();
  });
});

describe('a list of files', () => {
  test('names refs; git ignores locks and hidden files, and others are reported', () => {
    for (const file of ['a', 'b/c', 'a.lock', '.hidden', 'bad..name', 'd.lock/e']) write(`refs/heads/${file}`, id);
    const bad: string[] = [];
    const names = listLooseRefs(location, 'refs/heads/', (found) => bad.push(found));
    expect(names.toSorted()).toEqual(['refs/heads/a', 'refs/heads/b/c']);
    expect(bad.toSorted()).toEqual(['refs/heads/bad..name', 'refs/heads/d.lock/e']);
    expect(listLooseRefs(location, 'refs/heads/')).toHaveLength(2);
  });

  test('has the refs of its own work tree, and all others of the repository', () => {
    write('refs/heads/main', id);
    write('refs/bisect/of-another', id);
    write('worktrees/one/refs/bisect/own', id);
    write('worktrees/one/refs/heads/none', id);
    const both = ['refs/bisect/own', 'refs/heads/main'];
    expect(listLooseRefs(location, 'refs/').toSorted()).toEqual(both);
    expect(listLooseRefs(location, 'refs/bisect/')).toEqual(['refs/bisect/own']);
    write('worktrees/one/refs/bisect/deep/er', id);
    expect(listLooseRefs(location, 'refs/').toSorted()).toEqual(['refs/bisect/deep/er', ...both]);
  });

  test('is empty where there is no folder, and an error where it cannot be read', () => {
    expect(listLooseRefs(location, 'refs/none/')).toEqual([]);
    failFs('readdirSync', { code: 'EACCES' });
    expect(() => listLooseRefs(location, 'refs/heads/')).toThrow('EACCES');
  });
});
