import { describe, expect, test } from 'vitest';
import { mismatch, parseConsole, substitute } from './console-block.ts';
import { markdownBlocks } from './markdown-blocks.ts';

describe('blocks of a Markdown file', () => {
  test('are found with their language, their file and their line', () => {
    const markdown = 'Text\n\n```console\n$ ls\n```\n\n```yaml .uwf/a.yaml\nname: a\n```\n';
    expect(markdownBlocks(markdown)).toEqual([
      { language: 'console', file: undefined, text: '$ ls\n', line: 4 },
      { language: 'yaml', file: '.uwf/a.yaml', text: 'name: a\n', line: 8 },
    ]);
  });

  test('may hold a shorter fence', () => {
    expect(markdownBlocks('````md\n```\nx\n```\n````\n').map((block) => block.text)).toEqual(['```\nx\n```\n']);
  });
});

describe('commands of a console block', () => {
  test('go with what they print and how they exit', () => {
    expect(parseConsole('$ one\na\nb\n$ two \\\n  --flag\n$ three\nno\n[exit 5]\n')).toEqual([
      { command: 'one', expected: ['a', 'b'], exitCode: 0 },
      { command: 'two \\\n  --flag', expected: [], exitCode: 0 },
      { command: 'three', expected: ['no'], exitCode: 5 },
    ]);
  });

  test('take what was captured before', () => {
    expect(substitute('uwf log <thread> > <file>', new Map([['thread', '01K']]))).toBe('uwf log 01K > <file>');
  });
});

describe('what is printed', () => {
  test.each([
    { expected: [], printed: [] },
    { expected: ['a.b (c)'], printed: ['a.b (c)'] },
    { expected: ['took … ms'], printed: ['took 12 ms'] },
    { expected: ['first', '…', 'last'], printed: ['first', 'x', 'y', 'last'] },
    { expected: ['…'], printed: [] },
    { expected: ['<id> and <id>'], printed: ['7 and 7'] },
    { expected: ['<a-b> …', '<a-b>'], printed: ['7 x', '7'] },
  ])('$printed is as $expected says', ({ expected, printed }) => {
    expect(mismatch(expected, printed, new Map())).toBeUndefined();
  });

  test.each([
    { expected: [], printed: ['a'] },
    { expected: ['a'], printed: [] },
    { expected: ['a.b'], printed: ['axb'] },
    { expected: ['first', '…', 'last'], printed: ['first', 'x'] },
    { expected: ['<id>', '<id>'], printed: ['7', '8'] },
    { expected: ['<id>'], printed: ['two words'] },
  ])('$printed is not as $expected says', ({ expected, printed }) => {
    expect(mismatch(expected, printed, new Map())).toEqual(expect.any(String));
  });

  test('tells what a placeholder stood for', () => {
    const captures = new Map<string, string>();
    mismatch(['…', 'thread <thread>', '…'], ['x', 'thread 01K', 'y'], captures);
    expect(captures).toEqual(new Map([['thread', '01K']]));
  });
});
