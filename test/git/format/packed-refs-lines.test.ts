import { describe, expect, test } from 'vitest';
import { BrokenPackedRefs } from '../../../src/git/format/errors.ts';
import { PackedRefsLines } from '../../../src/git/format/refs.ts';

const path = '/repository/packed-refs';
const sorted = '# pack-refs with: peeled fully-peeled sorted \n';
const unsorted = '# pack-refs with: peeled \n';
const id = (digit: string): string => digit.repeat(40);

const linesOf = (text: string): PackedRefsLines => new PackedRefsLines(path, Buffer.from(text));
const names = (lines: Iterable<{ name: string }>): string[] => [...lines].map(({ name }) => name);
const broken = (reason: string): BrokenPackedRefs => new BrokenPackedRefs(path, reason);

/** Names of three kinds, in order, many times as long as what is read at once. */
const many = ['heads', 'tags', 'threads']
  .flatMap((kind) => Array.from({ length: 300 }, (_, at) => `refs/${kind}/${at}`))
  .toSorted();
const file = (header: string, list = many): string => header + list.map((name) => `${id('1')} ${name}\n`).join('');

describe.each([
  ['sorted', file(sorted)],
  ['in another order', file(unsorted, many.toReversed())],
  ['in another order, with a comment', file('# not sorted \n', many.toReversed())],
])('the lines of a file that is %s', (_, text) => {
  const lines = linesOf(text);

  test('are read from the beginning of one on', () => {
    expect(lines.brokenEnd).toBeUndefined();
    expect(() => names(lines.from(text.length - 5))).toThrow('git cannot read');
    expect(names(lines.from(text.length + 5))).toEqual([]);
  });

  test.each(['', 'refs/heads/0', 'refs/heads/299', 'refs/heads/2990', 'refs/tags/', 'refs/threads/99', 'refs/z'])(
    'are found from %j on',
    (name) => {
      expect(names(lines.fromName(name))).toEqual(many.filter((other) => other >= name));
    },
  );

  test.each([
    ['refs/', 1],
    ['refs/', 500],
    ['refs/heads/', 3],
    ['refs/heads/2', 200],
    ['refs/tags/', 300],
    ['refs/tags/', 1000],
    ['refs/z', 1],
    ['refs/a', 1],
  ])('are found below %s: the last %i', (prefix, count) => {
    const expected = many.filter((name) => name.startsWith(prefix)).slice(-count);
    expect(names(lines.lastWithPrefix(prefix, count))).toEqual(expected);
  });
});

/** Long names, between neighbours: the last of them need more than one look. */
test.each([1, 3, 12, 60, 149, 150, 151])('the last %i lines may be long', (count) => {
  const long = Array.from({ length: 150 }, (_, at) => `refs/n/${String(at).padStart(3, '0')}${'x'.repeat(900)}`);
  const short = (kind: string): string[] => many.slice(0, 200).map((name) => `refs/${kind}/${name.slice(-3)}`);
  const lines = linesOf(file(sorted, [...new Set(short('m').toSorted()), ...long, ...new Set(short('o').toSorted())]));
  expect(names(lines.lastWithPrefix('refs/n/', count))).toEqual(long.slice(-count));
  expect(names(lines.fromName(long.at(-count) ?? long[0]!))[0]).toBe(long.at(-count) ?? long[0]);
});

test('a search meets a last line that is long, and damage', () => {
  const last = `refs/z${'x'.repeat(3000)}`;
  const lines = linesOf(file(sorted, ['refs/a', last]));
  expect(names(lines.fromName('refs/b'))).toEqual([last]);
  expect(names(lines.fromName(last))).toEqual([last]);
  const zeroed = linesOf(`${file(sorted).slice(0, 1000)}${'\0'.repeat(30_000)}\n`);
  expect(() => names(zeroed.fromName('refs/tags/1'))).toThrow('it has a line that git cannot read');
});

describe('a line', () => {
  test('says where it lies; the header and peeled tags are none', () => {
    const text = `${sorted}${id('1')} refs/tags/a\n^${id('2')}\n${'3'.repeat(64)} refs/tags/b\n`;
    const start = sorted.length;
    const next = start + 53 + 42;
    expect([...linesOf(text).from(0)]).toEqual([
      { id: id('1'), name: 'refs/tags/a', start, end: start + 53 },
      { id: '3'.repeat(64), name: 'refs/tags/b', start: next, end: next + 77 },
    ]);
  });

  test('may hold an id in upper case, which git reads too', () => {
    const [line] = linesOf(`${id('A')} refs/a\n`).from(0);
    expect(line).toMatchObject({ id: id('a'), name: 'refs/a' });
  });

  test.each([10_000, 100_000])('may be longer than what is read at once: %i', (length) => {
    const long = `refs/${'x'.repeat(length)}`;
    expect(names(linesOf(file('', ['refs/a', long, 'refs/z'])).from(0))).toEqual(['refs/a', long, 'refs/z']);
    expect(names(linesOf(file('', [long, 'refs/z'])).from(0))).toEqual([long, 'refs/z']);
  });

  test.each([
    ['without an id', 'refs/heads/main'],
    ['whose id is cut off', `${id('1').slice(1)} refs/heads/main`],
    ['whose id is none', `${id('x')} refs/heads/main`],
    ['without a name', id('1')],
    ['that is empty', ''],
    ['with a comment', '# a comment'],
  ])('%s is an error, or is reported and passed over', (_, line) => {
    const lines = linesOf(`${file(sorted, ['refs/a'])}${line}\n${id('2')} refs/b\n`);
    const expected = broken(`it has a line that git cannot read: ${JSON.stringify(line.slice(0, 60))}`);
    expect(() => names(lines.from(0))).toThrow(expected);
    const met: BrokenPackedRefs[] = [];
    expect(names(lines.from(0, (error) => met.push(error)))).toEqual(['refs/a', 'refs/b']);
    expect(met).toEqual([expected]);
  });

  test('that is quoted is cut after 60 bytes', () => {
    const reason = `it has a line that git cannot read: "${'x'.repeat(60)}"…`;
    expect(() => names(linesOf(`${'x'.repeat(61)}\n`).from(0))).toThrow(broken(reason));
    expect(() => names(linesOf(`${'x'.repeat(60)}\n`).from(0))).toThrow(broken(reason.slice(0, -1)));
  });
});

describe('the end of a file', () => {
  test.each(['', sorted, file(sorted)])('is sound after a whole line', (text) => {
    expect(linesOf(text).brokenEnd).toBeUndefined();
  });

  test('is broken in the middle of a line', () => {
    const lines = linesOf(`${file(sorted)}${id('1')} refs/z`);
    const expected = broken(`its last line has no end: "${id('1')} refs/z"`);
    expect(lines.brokenEnd).toEqual(expected);
    expect(() => names(lines.from(0))).toThrow(expected);
    expect(names(lines.from(0, () => {}))).toEqual(many);
  });
});
