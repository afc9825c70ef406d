import { array, assert, asyncProperty, constantFrom, jsonValue } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSource } from '../../../src/workflow/source/read-source.ts';
import { memoryReader } from '../memory-reader.ts';

const parse = (files: Record<string, string>) => parseSource('/r/a.yaml', memoryReader(files));

describe('values', () => {
  test('anchors, merges and includes are written out', async () => {
    const { value, diagnostics } = await parse({
      '/r/a.yaml': [
        'base: &base { x: 1, y: [1, 2] }',
        'same: *base',
        'merged:',
        '  <<: *base',
        '  x: 2',
        'several:',
        '  <<: [{ x: 5 }, *base]',
        'text: !include texts/t.md',
        'part: !include parts/p.yaml',
      ].join('\n'),
      '/r/texts/t.md': '\uFEFFhello\n',
      '/r/parts/p.yaml': 'inner: !include q.json',
      '/r/parts/q.json': '{"a": "\\ud83d\\ude00"}',
    });
    expect(diagnostics).toEqual([]);
    expect(value).toEqual({
      base: { x: 1, y: [1, 2] },
      same: { x: 1, y: [1, 2] },
      merged: { x: 2, y: [1, 2] },
      several: { x: 5, y: [1, 2] },
      text: 'hello\n',
      part: { inner: { a: '😀' } },
    });
  });

  test('words that YAML 1.1 took for booleans stay words', async () => {
    const { value } = await parse({ '/r/a.yaml': 'a: no\nb: on\nc: 2026-11-21\nd: 0o17\ne: 1e3\non: x' });
    expect(value).toEqual({ a: 'no', b: 'on', c: '2026-11-21', d: 15, e: 1000, on: 'x' });
  });

  test('a key __proto__ is a key', async () => {
    const { value } = await parse({ '/r/a.yaml': '__proto__: { polluted: true }' });
    expect(Object.keys(value as object)).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('every JSON value comes through as it is', async () => {
    await assert(
      asyncProperty(jsonValue({ maxDepth: 4 }), async (json) => {
        const text = JSON.stringify(json, null, 2);
        const { value, diagnostics } = await parseSource('a.json', memoryReader({ 'a.json': text }));
        expect(diagnostics).toEqual([]);
        expect(value).toEqual(JSON.parse(text));
      }),
      { numRuns: 200 },
    );
  });
});

describe('places', () => {
  const files = {
    '/r/a.yaml': [
      'plain: abc def',
      'quoted: "$steps[-1] = 1"',
      'block: |2',
      '    abc',
      '   def',
      'shared: &s { deep: [1, 22] }',
      'alias: *s',
      'text: !include t.md',
      'escaped: "a\\tb"',
    ].join('\n'),
    '/r/t.md': 'one\ntwo three\n',
  };

  test('keys and values are found where they stand', async () => {
    const { map } = await parse(files);
    expect(map.place(['plain'], 'key')).toEqual({ file: '/r/a.yaml', line: 1, column: 1, length: 5 });
    expect(map.place(['plain'])).toEqual({ file: '/r/a.yaml', line: 1, column: 8, length: 7 });
    expect(map.place(['alias', 'deep', 1])).toEqual({ file: '/r/a.yaml', line: 6, column: 24, length: 2 });
  });

  test('what is not there is found at what would hold it', async () => {
    const { map } = await parse(files);
    expect(map.place(['shared', 'missing', 'part'])).toMatchObject({ line: 6, column: 1 });
    expect(map.place(['nothing'])).toMatchObject({ line: 1, column: 1 });
  });

  test('characters of a text are found, in quotes, in blocks and in included files', async () => {
    const { map } = await parse(files);
    expect(map.place(['plain'], { offset: 4 })).toMatchObject({ line: 1, column: 12 });
    expect(map.place(['quoted'], { offset: 12, length: 3 })).toEqual({
      file: '/r/a.yaml',
      line: 2,
      column: 22,
      length: 3,
    });
    // The value is '  abc\n def\n': two columns of indent are cut off.
    expect(map.place(['block'], { offset: 2 })).toMatchObject({ line: 4, column: 5 });
    expect(map.place(['block'], { offset: 7 })).toMatchObject({ line: 5, column: 4 });
    expect(map.place(['text'], { offset: 8 })).toEqual({ file: '/r/t.md', line: 2, column: 5, length: 1 });
  });

  test('of a text with escapes the beginning is shown', async () => {
    const { map } = await parse(files);
    expect(map.place(['escaped'], { offset: 2 })).toMatchObject({ line: 9, column: 10 });
  });

  test('lines that end in CR LF are counted once', async () => {
    const { map, value } = await parse({ '/r/a.yaml': 'a: 1\r\nb: two\r\nc: |\r\n  x\r\n  y\r\n' });
    expect(value).toEqual({ a: 1, b: 'two', c: 'x\ny\n' });
    expect(map.place(['b'])).toEqual({ file: '/r/a.yaml', line: 2, column: 4, length: 3 });
    expect(map.place(['c'], { offset: 2 })).toMatchObject({ line: 5, column: 3 });
  });
});

describe('mistakes', () => {
  const codes = async (files: Record<string, string>) =>
    (await parse(files)).diagnostics.map(({ file, line, column, code }) => `${file}:${line}:${column} ${code}`);

  test.each([
    ['a tab as indent', 'a:\n\tb: 1', '/r/a.yaml:2:1 yaml-syntax'],
    ['an open quote', 'a: "b\n', '/r/a.yaml:2:1 yaml-syntax'],
    ['a template without quotes', 'p: {{ x }}', '/r/a.yaml:1:4 bad-key'],
    ['a tag nobody knows', 'a: !foo b', '/r/a.yaml:1:4 yaml-syntax'],
    ['two documents', 'a: 1\n---\nb: 2', '/r/a.yaml:2:1 yaml-syntax'],
    ['an alias without its anchor', 'a: *b', '/r/a.yaml:1:1 unknown-alias'],
    ['a number that JSON lacks', 'a: .inf', '/r/a.yaml:1:4 not-json'],
    ['a merge of no map', 'a:\n  <<: 3', '/r/a.yaml:2:3 bad-merge'],
  ])('%s is reported', async (_name, text, finding) => {
    expect(await codes({ '/r/a.yaml': text })).toContain(finding);
  });

  test.each([
    ['in a block', 'a:\n  b: "x "y" z"\n  c: 1\n', [[2, 9]], '\\"'],
    ['with a colon behind it', "a:\n  b: 'It''s 'fine': do it'\n", [[2, 13]], "''"],
    ['in a flow', 'g: {\n  d: { p: "say "hi: you" now", x: 1 },\n  e: { r: d },\n f: [a, "b"],\n}\n', [[2, 16]], '\\"'],
    ['that is an apostrophe', "a:\n  p: 'don't do it'\n  q: 'b'\n", [[2, 10]], "''"],
    ['in a list', '- "a "b" c"\n- { x: "q" }\n', [[1, 6]], '\\"'],
    [
      'on each of two lines',
      'a: "x "y" z"\nb: "q"\nc: "x "y" z"\n',
      [
        [1, 7],
        [3, 7],
      ],
      '\\"',
    ],
  ])('a quote inside quotes %s is one mistake a line', async (_name, text, places, written) => {
    const { diagnostics } = await parse({ '/r/a.yaml': text });
    expect(diagnostics.map(({ line, column }) => [line, column])).toEqual(places);
    expect(diagnostics[0]).toMatchObject({
      code: 'yaml-syntax',
      hint: expect.stringContaining(`write it as ${written}`),
    });
  });

  test('a file that is included and broken is all that is told, for without it everything else is', async () => {
    const files = { '/r/a.yaml': 'roles: !include b.yaml\nx: .nan', '/r/b.yaml': 'w: { d: "a "b" c" }' };
    const { value, diagnostics } = await parse(files);
    expect(value).toBeUndefined();
    expect(diagnostics.filter(({ file }) => file === '/r/b.yaml')).toMatchObject([{ code: 'yaml-syntax', column: 12 }]);
  });

  test('of other mistakes that break the file the first is told', async () => {
    expect(await codes({ '/r/a.yaml': 'a: [b\nc: ]]\nd: "\n' })).toHaveLength(1);
    expect(await codes({ '/r/a.yaml': 'a: "b": c: d\n  - e\n f: *g\n' })).toHaveLength(1);
  });

  test('a key that stands twice does not hide the other mistakes', async () => {
    expect(await codes({ '/r/a.yaml': 'a: 1\na: 2\nb: .nan' })).toEqual([
      '/r/a.yaml:2:1 duplicate-key',
      '/r/a.yaml:3:4 not-json',
    ]);
  });

  test('broken includes are reported at the include, mistakes inside at their own place', async () => {
    const files = {
      '/r/a.yaml': 'a: !include none.md\nb: !include b.yaml\nc: !include c.json',
      '/r/b.yaml': 'x: .nan',
      '/r/c.json': '{"a": 1,}',
    };
    expect(await codes(files)).toEqual([
      '/r/a.yaml:1:13 include-failed',
      '/r/b.yaml:1:4 not-json',
      '/r/c.json:1:9 json-syntax',
    ]);
  });

  test('includes in a circle are reported and end', async () => {
    const files = { '/r/a.yaml': 'a: !include b.yaml', '/r/b.yaml': 'b: !include a.yaml' };
    const { diagnostics } = await parse(files);
    expect(diagnostics).toMatchObject([
      { file: '/r/b.yaml', code: 'include-cycle', hint: '/r/a.yaml includes /r/b.yaml includes /r/a.yaml' },
    ]);
  });

  test('an anchor that stands inside itself is reported and ends', async () => {
    expect(await codes({ '/r/a.yaml': 'a: &a\n  b: *a' })).toEqual(['/r/a.yaml:2:3 alias-cycle']);
    expect(await codes({ '/r/a.yaml': 'a: &a\n  <<: *a' })).toEqual(['/r/a.yaml:2:3 alias-cycle']);
  });

  test('a bomb of aliases, merges or brackets is refused', async () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
    for (let i = 1; i < 9; i += 1) lines.push(`a${i}: &a${i} [${`*a${i - 1}, `.repeat(10)}]`);
    expect(await codes({ '/r/a.yaml': lines.join('\n') })).toEqual(['/r/a.yaml:1:1 too-large']);
    expect((await codes({ '/r/a.yaml': `a: ${'['.repeat(20_000)}` })).join()).toContain('yaml-syntax');
    expect(await codes({ '/r/a.yaml': `a: ${'['.repeat(150)}${']'.repeat(150)}` })).toEqual([
      '/r/a.yaml:1:1 too-large',
    ]);
  });

  test('no text makes the parser throw', async () => {
    const pieces = constantFrom(
      'a',
      ': ',
      '\n',
      '  ',
      '- ',
      '&x ',
      '*x',
      '<<: ',
      '{',
      '}',
      '[',
      ']',
      '"',
      "'",
      '|',
      '>',
      '#',
      '!include ',
      '\t',
      '?',
      '%',
      '`',
      ',',
    );
    await assert(
      asyncProperty(array(pieces, { maxLength: 30 }), async (parts) => {
        await parse({ '/r/a.yaml': parts.join('') });
      }),
      { numRuns: 500 },
    );
  });
});

describe('a workflow that is too large to be written by hand is refused', () => {
  test('as YAML, included YAML counted in', async () => {
    const part = `x: ${'y'.repeat(70_000)}`;
    const { diagnostics } = await parse({
      '/r/a.yaml': `a: !include b.yaml\nb: !include c.json`,
      '/r/b.yaml': part,
      '/r/c.json': `"${part}"`,
    });
    expect(diagnostics).toMatchObject([
      {
        code: 'include-failed',
        line: 2,
        message: expect.stringContaining('makes more than 131072 characters of YAML or JSON'),
      },
    ]);
    await expect(parse({ '/r/a.yaml': '['.repeat(131_073) })).rejects.toThrow('makes more than 131072 characters');
    expect((await parse({ '/r/a.yaml': `# ${'y'.repeat(131_070)}` })).diagnostics).toEqual([]);
  });

  test('as text, each file counted once', async () => {
    const text = 'y'.repeat(400_000);
    const includes = (names: readonly string[]) => names.map((name, at) => `k${at}: !include ${name}.md`).join('\n');
    const files = { '/r/a.md': text, '/r/b.md': text, '/r/c.md': text };
    expect((await parse({ ...files, '/r/a.yaml': includes(['a', 'b', 'a', 'b']) })).diagnostics).toEqual([]);
    const { diagnostics } = await parse({ ...files, '/r/a.yaml': includes(['a', 'b', 'c']) });
    expect(diagnostics).toMatchObject([
      {
        code: 'include-failed',
        line: 3,
        message: expect.stringContaining('makes more than 1048576 characters in this workflow'),
      },
    ]);
  });
});
