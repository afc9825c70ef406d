import { readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PackedRefs } from '../../../../src/git/stores/disk/read-refs.ts';
import { withoutRefs } from '../../../../src/git/format/refs.ts';
import { parseObjectId } from '../../../../src/git/format/object-id.ts';
import type { ObjectId } from '../../../../src/git/format/object-id.ts';
import { ref } from '../../../contracts/store-fixture.ts';
import { failFs } from '../../../helpers/failing-fs.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../../helpers/temporary-repository.ts';

// 0 is the id of no object, which git calls a broken ref.
const idOf = (number: number): ObjectId => parseObjectId((number + 1).toString(16).padStart(40, '0'));
const sortedHeader = '# pack-refs with: peeled fully-peeled sorted \n';
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

const component = fc
  .string({
    unit: fc.constantFrom('a', 'b', 'B', '-', '.x', '0', 'é', '\u{1F9B4}', '\uFF21'),
    minLength: 1,
    maxLength: 6,
  })
  .map((text) => `x${text}x`.replaceAll('..', '.'));
const names = fc.uniqueArray(
  fc.array(component, { minLength: 1, maxLength: 3 }).map((components) => `refs/${components.join('/')}`),
  { maxLength: 300 },
);

describe('packed refs', () => {
  test.each([
    ['sorted', sortedHeader],
    ['not sorted', '# pack-refs with: peeled \n'],
    ['without a header', ''],
  ])('are found and listed, %s', (_what, header) => {
    const path = join(createTemporaryFolder(), 'packed-refs');
    fc.assert(
      fc.property(names, (all) => {
        const values = new Map(all.map((name, number) => [name, idOf(number)]));
        const order = header === sortedHeader ? all.toSorted(byBytes) : all;
        const lines = order.map((name, at) => `${values.get(name)} ${name}\n${at % 3 === 0 ? `^${idOf(at)}\n` : ''}`);
        writeFileSync(`${path}.new`, header + lines.join(''));
        renameSync(`${path}.new`, path);
        const packed = new PackedRefs(path);
        for (const [name, id] of values) expect(packed.find(ref(name.slice('refs/'.length)))).toBe(id);
        expect(packed.find(ref('absent'))).toBeUndefined();
        expect(packed.below('refs/').map(({ name }): string => name)).toEqual(all.toSorted(byBytes));
        const prefix = `refs/${(all[0] ?? 'refs/x').split('/')[1]}/`;
        expect(packed.below(prefix).map(({ name }): string => name)).toEqual(
          all.filter((name) => name.startsWith(prefix)).toSorted(byBytes),
        );
        packed.close();
      }),
      { numRuns: 40 },
    );
  });

  test('without some of them are the same file but for their lines', () => {
    const path = join(createTemporaryFolder(), 'packed-refs');
    fc.assert(
      fc.property(names, fc.nat(), (all, seed) => {
        const sorted = all.toSorted(byBytes);
        const isRemoved = (at: number): boolean => ((at + 1) * (seed % 97)) % 5 === 1;
        const block = (name: string, at: number): string =>
          `${idOf(at)} ${name}\n${at % 2 === 0 ? `^${idOf(at)}\n` : ''}`;
        writeFileSync(path, sortedHeader + sorted.map(block).join(''));
        const removed = new Set(sorted.filter((_name, at) => isRemoved(at)));
        const remaining = withoutRefs(path, readFileSync(path), removed)?.toString();
        const expected = sortedHeader + sorted.map((name, at) => (isRemoved(at) ? '' : block(name, at))).join('');
        expect(remaining).toBe(removed.size === 0 ? undefined : expected);
      }),
      { numRuns: 60 },
    );
  });

  test('are read anew when the file was replaced, though its size and time are the same', () => {
    const path = join(createTemporaryFolder(), 'packed-refs');
    const write = (id: ObjectId): void => {
      writeFileSync(`${path}.new`, `${sortedHeader}${id} refs/threads/one\n`);
      utimesSync(`${path}.new`, 1_795_262_400, 1_795_262_400);
      renameSync(`${path}.new`, path);
    };
    const packed = new PackedRefs(path);
    for (let number = 1; number <= 20; number++) {
      write(idOf(number));
      expect(packed.find(ref('threads/one'))).toBe(idOf(number));
    }
    packed.close();
  });

  test('by the ten thousand are found and listed as git does', () => {
    const repository = createTemporaryRepository();
    const commit = repository.git('commit-tree', '-m', 'x', repository.git('mktree'));
    const path = join(repository.dir, '.git', 'packed-refs');
    const all = Array.from({ length: 10_000 }, (_, number) => `refs/threads/${(number * 7919) % 100_003}`).toSorted(
      byBytes,
    );
    writeFileSync(path, sortedHeader + all.map((name) => `${commit} ${name}\n`).join(''));
    const packed = new PackedRefs(path);
    for (let at = 0; at < all.length; at += 97) {
      expect(packed.find(ref(all[at]!.slice('refs/'.length)))).toBe(commit);
    }
    expect(packed.find(ref('threads/absent'))).toBeUndefined();
    expect(packed.below('refs/threads/5').map(({ name }) => name)).toEqual(
      all.filter((name) => name.startsWith('refs/threads/5')),
    );
    const byGit = repository.git('for-each-ref', '--format=%(refname)', 'refs/threads/').split('\n');
    expect(packed.below('refs/threads/').map(({ name }): string => name)).toEqual(byGit);
    packed.close();
  });
});

describe('a file of packed refs', () => {
  const path = (): string => join(createTemporaryFolder(), 'packed-refs');
  const line = (digit: string, name: string): string => `${digit.repeat(40)} ${name}\n`;

  test('that does not exist has no refs, nor when it has been removed', () => {
    const at = path();
    const packed = new PackedRefs(at);
    for (let round = 0; round < 2; round += 1) {
      expect(packed.find(ref('threads/a'))).toBeUndefined();
      expect([packed.below('refs/'), packed.lastBelow('refs/', 2), packed.readableBelow('refs/')]).toEqual([
        [],
        [],
        [],
      ]);
      expect(packed.isEmptyFile()).toBe(false);
      writeFileSync(at, line('1', 'refs/threads/a'));
      expect(packed.find(ref('threads/a'))).toBe('1'.repeat(40));
      rmSync(at);
    }
    packed.close();
  });

  test('is empty only where git did not write it', () => {
    const at = path();
    writeFileSync(at, '');
    const packed = new PackedRefs(at);
    expect(packed.isEmptyFile()).toBe(true);
    writeFileSync(at, sortedHeader);
    expect(packed.isEmptyFile()).toBe(false);
    packed.close();
  });

  test('gives no more of the last refs than are asked for', () => {
    const at = path();
    writeFileSync(at, sortedHeader + ['a', 'b', 'c'].map((name) => line('1', `refs/threads/${name}`)).join(''));
    const packed = new PackedRefs(at);
    const namesOf = (refs: { name: string }[]): string[] => refs.map(({ name }) => name.slice(-1));
    expect(namesOf(packed.lastBelow('refs/threads/', 2))).toEqual(['b', 'c']);
    packed.close();
  });

  test('with refs that are none reports them and gives the others', () => {
    const at = path();
    const sound = ['a', 'b', 'c', 'd'].map((name) => line('1', `refs/threads/${name}`));
    const none = [line('0', 'refs/threads/e'), line('1', 'refs/threads/f..g'), line('1', 'refs/threads/h.lock')];
    writeFileSync(at, sortedHeader + [line('1', 'refs/..'), ...sound, ...none].join(''));
    const packed = new PackedRefs(at);
    const damage: string[] = [];
    const report = (error: Error): void => void damage.push(error.message);
    expect(packed.below('refs/threads/', report)).toHaveLength(4);
    expect(damage).toHaveLength(3);
    expect(damage[0]).toContain('its line in packed-refs holds the id of no object');
    expect(damage[1]).toContain('git allows no such name');
    expect(packed.below('refs/')).toHaveLength(4);
    // Other refs take the places of those that are none.
    expect(packed.lastBelow('refs/threads/', 2, report).map(({ name }) => name)).toEqual([
      'refs/threads/c',
      'refs/threads/d',
    ]);
    expect(damage).toHaveLength(6);
    expect(() => packed.find(ref('threads/e'))).toThrow('its line in packed-refs holds the id of no object');
    packed.close();
  });

  test('gives the last sound refs, however many after them are none, and reports no damage before them', () => {
    const at = path();
    const numbers = Array.from({ length: 300 }, (_, number) => String(number).padStart(3, '0'));
    const lines = numbers.map((number) => line(number > '100' || number < '002' ? '0' : '1', `refs/threads/${number}`));
    writeFileSync(at, sortedHeader + lines.join(''));
    const packed = new PackedRefs(at);
    expect(packed.lastBelow('refs/threads/', 1).map(({ name }) => name)).toEqual(['refs/threads/100']);
    const damage: string[] = [];
    const report = (met: { ref: string }): void => void damage.push(met.ref);
    expect(packed.lastBelow('refs/threads/00', 8, report)).toHaveLength(8);
    expect(damage).toEqual([]);
    expect(packed.lastBelow('refs/threads/00', 9, report)).toHaveLength(8);
    expect(damage).toEqual(['refs/threads/000', 'refs/threads/001']);
    packed.close();
  });

  test('is opened once for each of its versions, and closed with it', () => {
    const at = path();
    let [opened, closed] = [0, 0];
    failFs('openSync', { code: 'never', where: (file) => (file === at && (opened += 1), false) });
    failFs('closeSync', { code: 'never', where: () => ((closed += 1), false) });
    const packed = new PackedRefs(at);
    const write = (digit: string): void => {
      writeFileSync(`${at}.new`, line(digit, 'refs/threads/a'));
      closed = 0;
      renameSync(`${at}.new`, at);
    };
    for (const [number, digit] of ['1', '2', '3'].entries()) {
      write(digit);
      for (let time = 0; time < 3; time += 1) expect(packed.find(ref('threads/a'))).toBe(digit.repeat(40));
      expect([opened, closed]).toEqual([number + 1, number === 0 ? 0 : 1]);
    }
    packed.close();
    packed.close();
    expect([opened, closed]).toEqual([3, 2]);
    expect(packed.find(ref('threads/a'))).toBe('3'.repeat(40));
    packed.close();
  });

  test('with a damaged line is not rewritten, and gives what can be read', () => {
    const at = path();
    writeFileSync(at, `${sortedHeader}${line('1', 'refs/threads/a')}damaged\n${line('2', 'refs/threads/b')}`);
    const packed = new PackedRefs(at);
    expect(() => withoutRefs(at, readFileSync(at), new Set(['refs/threads/a']))).toThrow('git cannot read');
    expect(() => packed.below('refs/threads/')).toThrow('git cannot read');
    expect(packed.readableBelow('refs/threads/')).toHaveLength(2);
    expect(packed.readableBelow('refs/heads/')).toEqual([]);
    writeFileSync(at, `${sortedHeader}${line('1', 'refs/threads/a')}cut off`);
    expect(() => packed.find(ref('threads/a'))).toThrow('its last line has no end');
    expect(packed.readableBelow('refs/threads/')).toHaveLength(1);
    packed.close();
  });

  test('may be removed between two looks at it; one that cannot be opened is an error', () => {
    const at = path();
    writeFileSync(at, line('1', 'refs/threads/a'));
    const packed = new PackedRefs(at);
    failFs('openSync', { code: 'ENOENT', times: 1 });
    expect(packed.find(ref('threads/a'))).toBeUndefined();
    failFs('openSync', { code: 'EACCES', times: 1 });
    expect(() => packed.find(ref('threads/a'))).toThrow('EACCES');
    expect(packed.find(ref('threads/a'))).toBe('1'.repeat(40));
    packed.close();
  });
});
