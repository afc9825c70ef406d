import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { BrokenPackedRefs, BrokenRef, InvalidRefName, type RefDamage } from '../../../../src/git/format/errors.ts';
import { parseRefName } from '../../../../src/git/format/refs.ts';
import { RefReader } from '../../../../src/git/stores/disk/read-refs.ts';
import type { Ref } from '../../../../src/git/repository.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder } from '../../../helpers/temporary-repository.ts';

const id = (digit: string): string => digit.repeat(40);
const some = `0${'1'.repeat(39)}`;
const name = parseRefName('refs/heads/main');
let dir: string;
let reader: RefReader;

beforeEach(() => {
  dir = createTemporaryFolder();
  reader = new RefReader({ gitDir: dir, commonDir: dir, workTree: undefined });
});

function write(path: string, content: string, end = '\n'): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), content + end);
}

function pack(refs: Record<string, string>): void {
  const lines = Object.entries(refs).map(([name, digit]) => `${id(digit)} refs/threads/${name}\n`);
  writeFileSync(join(dir, 'packed-refs'), `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`);
}

/** Refs as `a1`: the end of the name, and the digit of the value. */
const short = (refs: readonly Ref[]): string[] =>
  refs.map(({ name, id }) => name.slice('refs/threads/'.length) + id[0]);

describe('a symbolic ref', () => {
  test('is followed over five others, as git does, and no further', () => {
    const [first] = ['refs/s/0'].map(parseRefName);
    for (let at = 0; at < 5; at += 1) write(`refs/s/${at}`, `ref: refs/s/${at + 1}`);
    expect(reader.follow(first!)).toEqual({ name: 'refs/s/5', id: undefined });
    write('refs/s/5', id('1'));
    expect(reader.follow(first!)).toEqual({ name: 'refs/s/5', id: id('1') });
    write('refs/s/5', 'ref: refs/s/6');
    write('refs/s/6', id('1'));
    expect(() => reader.follow(first!)).toThrow(BrokenRef);
    expect(() => reader.follow(first!)).toThrow('its chain of symbolic refs does not end');
  });
});

describe('a list', () => {
  test('is of what is below a folder', () => {
    expect(() => reader.list('refs/threads')).toThrow(InvalidRefName);
    expect(() => reader.list('refs/threads')).toThrow("a prefix to list ends in '/'");
    expect(() => reader.list('refs/..x/')).toThrow('no ref can be below it');
  });

  test('has loose refs before packed ones of the same name, in the order of their bytes', () => {
    pack({ a: '1', b: '1', d: '1' });
    for (const name of ['b', 'c', '\u{1F600}', '\uFF5E']) write(`refs/threads/${name}`, id('2'));
    expect(short(reader.list('refs/threads/'))).toEqual(['a1', 'b2', 'c2', 'd1', '\uFF5E2', '\u{1F600}2']);
    expect(short(reader.list('refs/threads/', { last: 2 }))).toEqual(['\uFF5E2', '\u{1F600}2']);
    expect(short(reader.list('refs/threads/', { last: 1 }))).toEqual(['\u{1F600}2']);
    expect(short(reader.list('refs/threads/', { last: 4 }))).toEqual(['c2', 'd1', '\uFF5E2', '\u{1F600}2']);
    expect(reader.list('refs/heads/')).toEqual([]);
  });

  test('may be of those that begin alike, or that are chosen by their names, or of the last', () => {
    pack({ a: '1', ab: '1', b: '1' });
    write('refs/threads/ac', id('2'));
    write('refs/threads/c', id('2'));
    const not = (end: string) => (name: string) => !name.endsWith(end);
    expect(short(reader.list('refs/threads/', { startsWith: 'refs/threads/a' }))).toEqual(['a1', 'ab1', 'ac2']);
    expect(short(reader.list('refs/threads/', { where: not('b') }))).toEqual(['a1', 'ac2', 'c2']);
    expect(short(reader.list('refs/threads/', { where: not('c') }))).toEqual(['a1', 'ab1', 'b1']);
    expect(short(reader.list('refs/threads/', { where: not('c'), last: 2 }))).toEqual(['ab1', 'b1']);
    expect(short(reader.list('refs/threads/', { where: not('b'), last: 3 }))).toEqual(['a1', 'ac2', 'c2']);
    expect(short(reader.list('refs/threads/', { last: 1 }))).toEqual(['c2']);
  });

  test('has packed and loose refs between each other, in order', () => {
    pack({ b: '1', d: '1' });
    for (const name of ['c', 'e', 'a']) write(`refs/threads/${name}`, id('2'));
    expect(short(reader.list('refs/threads/'))).toEqual(['a2', 'b1', 'c2', 'd1', 'e2']);
    expect(short(reader.list('refs/threads/', { last: 3 }))).toEqual(['c2', 'd1', 'e2']);
    expect(short(reader.list('refs/threads/', { last: 1 }))).toEqual(['e2']);
  });

  test('of the last loose refs does not depend on the order in which the disk names them', () => {
    const all = 'h b k d a g l f c j i e'.split(' ');
    for (const name of all) write(`refs/threads/${name}`, id('2'));
    expect(short(reader.list('refs/threads/', { last: 3 }))).toEqual(['j2', 'k2', 'l2']);
  });

  test('of the last refs reads no others: neither the loose ones nor the packed file from its beginning', () => {
    const many = Array.from({ length: 200 }, (_, number) => [`n${number + 100}`, '1']);
    pack({ '..': '1', ...Object.fromEntries(many) });
    write('refs/threads/0', 'nonsense');
    write('refs/threads/n299', id('2'));
    const damage: string[] = [];
    const damaged = ({ ref }: RefDamage): void => void damage.push(ref);
    expect(short(reader.list('refs/threads/', { last: 1, damaged }))).toEqual(['n2992']);
    expect(damage).toEqual([]);
    expect(reader.list('refs/threads/', { damaged })).toHaveLength(200);
    expect(damage).toEqual(['refs/threads/..', 'refs/threads/0']);
  });

  test('of the last packed refs, where there are no loose ones', () => {
    pack({ a: '1', b: '1', c: '1' });
    expect(short(reader.list('refs/threads/', { last: 2 }))).toEqual(['b1', 'c1']);
    const notC = (name: string): boolean => !name.endsWith('c');
    expect(short(reader.list('refs/threads/', { last: 1, where: notC }))).toEqual(['b1']);
  });
});

describe('damage', () => {
  let damage: RefDamage[];
  const damaged = (met: RefDamage): void => void damage.push(met);
  const reasons = (): string[] =>
    damage.map((met) => (met instanceof BrokenRef ? `${met.ref}: ${met.reason}` : `packed: ${met.reason}`));

  beforeEach(() => {
    damage = [];
  });

  test('is reported, and makes room for another ref among the last', () => {
    for (const name of ['a', 'b', 'c']) write(`refs/threads/${name}`, id('1'));
    for (const name of ['d', 'e']) write(`refs/threads/${name}`, 'nonsense');
    expect(short(reader.list('refs/threads/', { last: 2, damaged }))).toEqual(['b1', 'c1']);
    expect(short(reader.list('refs/threads/', { last: 2 }))).toEqual(['b1', 'c1']);
    expect(reasons()).toContain('refs/threads/d: its file holds neither an object id nor a ref');
  });

  test('among the last leaves the wishes for the others as they are', () => {
    pack({ a1: '1', a2: '1', a3: '1', b1: '1' });
    write('refs/threads/a3', 'nonsense');
    const where = (name: string): boolean => !name.endsWith('2');
    expect(short(reader.list('refs/threads/', { last: 1, startsWith: 'refs/threads/a', where }))).toEqual(['a11']);
  });

  test('is reported of names and of refs that lead nowhere', () => {
    write('refs/threads/bad..name', id('1'));
    write('refs/threads/s', 'ref: refs/threads/gone');
    expect(reader.list('refs/threads/', { damaged })).toEqual([]);
    expect(reasons()).toEqual([
      'refs/threads/bad..name: git allows no such name',
      'refs/threads/s: it leads to refs/threads/gone, which is not there',
    ]);
    expect(reader.list('refs/threads/')).toEqual([]);
  });

  test('is not a symbolic ref that leads to another one', () => {
    write('refs/threads/a', id('1'));
    write('refs/threads/s', 'ref: refs/threads/a');
    expect(short(reader.list('refs/threads/', { damaged }))).toEqual(['a1', 's1']);
    expect(damage).toEqual([]);
  });

  test('is not a ref that has just been removed', () => {
    write('refs/threads/a', id('1'));
    failFs('openSync', { code: 'ENOENT' });
    expect(reader.list('refs/threads/', { damaged })).toEqual([]);
    expect(reader.list('refs/threads/', { last: 1, damaged })).toEqual([]);
    expect(damage).toEqual([]);
  });

  test('of a packed value does not count behind a loose ref', () => {
    pack({ a: '0', b: '0' });
    write('refs/threads/a', id('1'));
    expect(short(reader.list('refs/threads/', { damaged }))).toEqual(['a1']);
    expect(damage).toMatchObject([{ ref: 'refs/threads/b' }]);
  });

  test('of the packed file is an error, or is reported while the rest is read', () => {
    writeFileSync(join(dir, 'packed-refs'), `damaged\n${id('1')} refs/threads/a\n`);
    write('refs/threads/b', id('2'));
    expect(() => reader.list('refs/threads/')).toThrow(BrokenPackedRefs);
    expect(short(reader.list('refs/threads/', { damaged }))).toEqual(['a1', 'b2']);
    expect(damage.filter((met) => met instanceof BrokenPackedRefs)).toHaveLength(1);
  });

  test('of an empty packed file is reported where reports are wanted', () => {
    writeFileSync(join(dir, 'packed-refs'), '');
    expect(reader.list('refs/threads/')).toEqual([]);
    expect(reader.list('refs/threads/', { damaged })).toEqual([]);
    expect(reasons()).toEqual(['packed: it is empty, which git never leaves it']);
  });

  test('of the machine is an error', () => {
    write('refs/threads/a', id('1'));
    failFs('openSync', { code: 'EMFILE' });
    expect(() => reader.list('refs/threads/', { damaged })).toThrow('EMFILE');
  });
});

describe('the file of a ref', () => {
  test.each([
    [`${some}\n`, { name, id: some }],
    [some, { name, id: some }],
    ['10'.repeat(20), { name, id: '10'.repeat(20) }],
    [`${some} and more`, { name, id: some }],
    [`${'aB'.repeat(20)}\n`, { name, id: 'ab'.repeat(20) }],
    ['ref: refs/heads/other\n', { name: 'refs/heads/other', id: undefined }],
    ['ref:refs/heads/other', { name: 'refs/heads/other', id: undefined }],
    ['ref: \t refs/heads/other', { name: 'refs/heads/other', id: undefined }],
  ])('may be %j', (content, expected) => {
    write(name, content, '');
    expect(reader.follow(name)).toEqual(expected);
  });

  test.each([
    ['', 'its file is empty'],
    [`${'0'.repeat(40)}\n`, 'its file holds the id of no object'],
    [`x${some}\n`, 'its file holds neither an object id nor a ref'],
    [`${some.slice(1)}\n`, 'its file holds neither an object id nor a ref'],
    [`${some}x\n`, 'its file holds neither an object id nor a ref'],
    ['ref: bad..name\n', 'its file holds neither an object id nor a ref'],
    [' '.repeat(64 * 1024 + 1), 'its file has more than 65536 bytes'],
  ])('is broken where it is %j', (content, reason) => {
    write(name, content, '');
    expect(() => reader.follow(name)).toThrow(BrokenRef);
    expect(() => reader.follow(name)).toThrow(expect.objectContaining({ ref: name, reason }));
  });

  test.each(['EACCES', 'EPERM', 'EIO', 'ELOOP'])('is broken where it cannot be read: %s', (code) => {
    write(name, some);
    failFs('openSync', { code });
    const reason = code === 'ELOOP' ? 'its file is a link' : `its file cannot be read (${code})`;
    expect(() => reader.follow(name)).toThrow(expect.objectContaining({ ref: name, reason }));
  });

  test('is an error of the process where that has too many files open', () => {
    write(name, some);
    failFs('openSync', { code: 'EMFILE' });
    expect(() => reader.follow(name)).toThrow('EMFILE');
    expect(() => reader.follow(name)).not.toThrow(BrokenRef);
  });

  test('is absent where there is nothing, a folder, or a file in place of its folder', () => {
    expect(reader.follow(name).id).toBeUndefined();
    write(`${name}/below`, some);
    expect(reader.follow(name).id).toBeUndefined();
    expect(reader.follow(parseRefName(`${name}/below/that`)).id).toBeUndefined();
  });
});

describe('a list of files', () => {
  const names = (prefix: string): string[] => reader.list(prefix).map(({ name: found }) => found);

  test('names refs; git ignores locks and hidden files, and others are reported', () => {
    for (const file of ['a', 'b/c', 'a.lock', '.hidden', 'bad..name', 'd.lock/e']) write(`refs/heads/${file}`, some);
    const bad: string[] = [];
    reader.list('refs/heads/', { damaged: ({ ref }) => void bad.push(ref) });
    expect(bad.toSorted()).toEqual(['refs/heads/bad..name', 'refs/heads/d.lock/e']);
    expect(names('refs/heads/')).toEqual(['refs/heads/a', 'refs/heads/b/c']);
  });

  test('has the refs of its own work tree, and all others of the repository', () => {
    reader = new RefReader({ gitDir: join(dir, 'worktrees/one'), commonDir: dir, workTree: undefined });
    write('refs/heads/main', some);
    write('refs/bisect/of-another', some);
    write('worktrees/one/refs/bisect/own', some);
    write('worktrees/one/refs/heads/none', some);
    const both = ['refs/bisect/own', 'refs/heads/main'];
    expect(names('refs/')).toEqual(both);
    expect(names('refs/bisect/')).toEqual(['refs/bisect/own']);
    write('worktrees/one/refs/bisect/deep/er', some);
    expect(names('refs/')).toEqual(['refs/bisect/deep/er', ...both]);
  });

  test('is empty where there is no folder, and an error where it cannot be read', () => {
    expect(names('refs/none/')).toEqual([]);
    failFs('readdirSync', { code: 'EACCES' });
    expect(() => names('refs/heads/')).toThrow('EACCES');
  });
});
