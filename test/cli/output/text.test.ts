import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  allHarmless,
  createPalette,
  fitTo,
  harmless,
  harmlessJson,
  oneLine,
  widthOf,
} from '../../../src/cli/output/text.ts';
import { formatFacts, formatTable } from '../../../src/cli/output/table.ts';
import { formatAgo, formatCount, formatDuration, formatTime } from '../../../src/text/wording.ts';

const plain = createPalette({}, {});

describe('colours', () => {
  test.each([
    ['a pipe', {}, {}, false],
    ['a terminal', { isTTY: true }, {}, true],
    ['a terminal under NO_COLOR', { isTTY: true }, { NO_COLOR: '1' }, false],
    ['a terminal under an empty NO_COLOR', { isTTY: true }, { NO_COLOR: '' }, true],
    ['a dumb terminal', { isTTY: true }, { TERM: 'dumb' }, false],
    ['a pipe under FORCE_COLOR', {}, { FORCE_COLOR: '1' }, true],
    ['a terminal under FORCE_COLOR=0', { isTTY: true }, { FORCE_COLOR: '0' }, false],
    ['both of them', {}, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
  ])('in %s', (_, stream, env, isColoured) => {
    const paint = createPalette(stream, env);
    expect(paint.isColoured).toBe(isColoured);
    expect(paint.error('x') !== 'x').toBe(isColoured);
  });
});

describe('the width of a text', () => {
  test.each([
    ['', 0],
    ['abc', 3],
    ['日本', 4],
    ['e\u0301', 1],
    ['🚀', 2],
    ['✅', 2],
    ['❤️', 2],
    ['\u001B[31mred\u001B[0m', 3],
  ])('%j is %d columns', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  test('after cutting is never more than there is room for', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(20), (text, columns) => {
        expect(widthOf(fitTo(oneLine(text), columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

test('a text from outside cannot steer the terminal', () => {
  expect(harmless('a\u001B[2Jb\u0007\r\nc\td\u009B')).toBe('a\uFFFD[2Jb\uFFFD\nc\td\uFFFD');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(oneLine(text)).not.toMatch(/\p{Cc}/u);
    }),
  );
});

test('what is invisible and misleads is shown', () => {
  const marks = ['\u061C', '\u200E', '\u200F', '\u202A', '\u202E', '\u2066', '\u2069', '\u2028', '\u2029', '\uFEFF'];
  for (const mark of [...marks, '\u2060', '\u206F', '\uFFF9', '\u{E0001}', '\u{E0041}', '\u{E007F}']) {
    expect(harmless(`a${mark}b`)).toBe('a\uFFFDb');
  }
  // Written with joiners, selectors and marks.
  for (const text of ['👩‍💻', 'می‌خواهم', '❤️', 'e\u0301', '葛\u{E0100}', 'שלום']) expect(harmless(text)).toBe(text);
});

test('JSON is the same and has nothing that steers or misleads', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.oneof(
          fc.constantFrom('\u009B', '\u202E', '\u{E0041}', '\u2028'),
          fc.string({ unit: 'binary', maxLength: 1 }),
        ),
      }),
      (text) => {
        const json = harmlessJson(JSON.stringify({ [text]: text }));
        expect(JSON.parse(json)).toEqual({ [text]: text });
        expect(json).toBe(harmless(json));
      },
    ),
  );
});

test('of a text in colours the colours stay', () => {
  const paint = createPalette({ isTTY: true }, {});
  const text = paint.error('a') + paint.id('b') + paint.quiet('c\n');
  expect(allHarmless(text, paint)).toBe(text);
  expect(allHarmless(`${text}\u001B[8m\u001B[2J\u202E\u001B]0;x\u0007`, paint)).toBe(
    `${text}\uFFFD[8m\uFFFD[2J\uFFFD\uFFFD]0;x\uFFFD`,
  );
  expect(allHarmless(text, plain)).not.toContain('\u001B');
});

describe('a table', () => {
  const columns = [
    { title: 'A', cell: (row: string[]) => row[0] ?? '' },
    { title: 'NUMBER', cell: (row: string[]) => row[1] ?? '', align: 'right' as const },
    { title: 'TEXT', cell: (row: string[]) => row[2] ?? '' },
  ];
  const rows = [
    ['日本', '1', 'a long text that does not fit'],
    ['x', '20', 'two\nlines'],
  ];

  test('is aligned by columns of the terminal, and not cut in a pipe', () => {
    expect(formatTable(rows, columns, plain, {}).split('\n')).toEqual([
      'A     NUMBER  TEXT',
      '日本       1  a long text that does not fit',
      'x         20  two lines',
    ]);
  });

  test('takes one line for a row on a terminal', () => {
    expect(formatTable(rows, columns, plain, { isTTY: true, columns: 30 }).split('\n')[1]).toBe(
      '日本       1  a long text tha…',
    );
  });

  test('cuts what may be cut, and leaves out what is extra, where a row does not fit', () => {
    const cut = columns.map((column, place) => (place === 2 ? { ...column, extra: 1 } : { ...column, least: 3 }));
    const wide = [['一二三四', '12345678', 'text']];
    const lines = (width: number): string[] =>
      formatTable(wide, cut, plain, { isTTY: true, columns: width }).split('\n');
    expect(lines(22)).toEqual(['A         NUMBER  TEXT', '一二三…  123456…  text']);
    expect(lines(10)).toEqual(['A     NUM…', '一…   123…']);
    expect(lines(8)).toEqual(['A    NU…', '一…  12…']);
  });

  test('without rows is nothing', () => {
    expect(formatTable([], columns, plain, {})).toBe('');
  });

  test('of facts leaves out what is not there', () => {
    expect(
      formatFacts([
        ['a', '1'],
        ['long', '2'],
        ['b', null],
        ['c', undefined],
        ['d', ''],
      ]),
    ).toBe('a     1\nlong  2');
  });
});

describe('times', () => {
  test.each([
    [0, '0.0 s'],
    [-5, '0.0 s'],
    [9949, '9.9 s'],
    [9951, '10 s'],
    [59_600, '1 min'],
    [65_000, '1 min 5 s'],
    [3_600_000, '1 h'],
    [90_000_000, '1 d 1 h'],
  ])('%d ms are %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test.each([
    [0, 'just now'],
    [60_000, '1 minute ago'],
    [7_200_000, '2 hours ago'],
    [90_000_000, 'yesterday'],
    [864_000_000, '10 days ago'],
    [8_640_000_000, '2026-08-13'],
  ])('%d ms before now was %s', (ms, text) => {
    const nowMs = Date.UTC(2026, 10, 21, 12);
    expect(formatAgo(nowMs - ms, nowMs)).toBe(text);
  });

  test('and counts are written out', () => {
    expect(formatTime(0)).toBe('1970-01-01 00:00:00 UTC');
    expect([0, 999, 1000, 1_234_567].map(formatCount)).toEqual(['0', '999', '1,000', '1,234,567']);
  });
});
