import { describe, expect, test } from 'vitest';
import { firstLine, lastLine } from '../../src/thread/commit-message.ts';

test('the first line of a text is the first that says something', () => {
  expect(firstLine('\n---\n\n## A title\n\ntext')).toBe('A title');
  expect(firstLine('- item')).toBe('item');
  expect(firstLine('***')).toBe('');
  expect(firstLine('🌹\n“…”\n説明\n')).toBe('説明');
  expect(firstLine('a # b - c ')).toBe('a # b - c');
});

describe('the last line of what a program wrote', () => {
  test.each([
    ['sum.txt does not add up\n', 'sum.txt does not add up'],
    ['> pkg@1.0.0 test\n> node test.js\n\n3 of 4 passed\n\n', '3 of 4 passed'],
    ['ok 1\n# tests 3\n# fail 1\n# duration_ms 48.1\n', 'fail 1'],
    ['FAIL a.test.ts\nTests: 1 failed, 2 total\nTime:  0.5 s\n', 'Tests: 1 failed, 2 total'],
    [' Tests  2 passed (2)\n   Start at  11:02:09\n   Duration  212ms (transform 30ms)\n', 'Tests  2 passed (2)'],
    ['=== 1 failed, 2 passed in 0.12s ===\n', '1 failed, 2 passed in 0.12s'],
    ['lint: 2 problems\nmake: *** [Makefile:3: lint] Error 1\n', 'lint: 2 problems'],
    ['lint: 2 problems\nmake[1]: Leaving directory x\n', 'lint: 2 problems'],
    ['1 failing\n\u2009ELIFECYCLE\u2009 Test failed. See above.\nnpm ERR! code 1\n', '1 failing'],
    ['\u001B[31m2 errors\u001B[39m\r\n\u001B[2m----\u001B[22m', '2 errors'],
    ['10 %\r100 %, all well\r', '100 %, all well'],
    ['Done in 2s.\n', 'Done in 2s.'],
    ['timeouts: 3\nnpm is installed\n', 'npm is installed'],
    ['****\n', ''],
    ['', ''],
  ])('%j', (output, line) => {
    expect(lastLine(output)).toBe(line);
  });
});
