import { expect, test } from 'vitest';
import { ProgressLine } from '../../../src/cli/output/progress-line.ts';
import { recorder } from '../../helpers/cli.ts';

/** What is left on the screen: each line as it was last drawn. */
function screenOf(text: string): string {
  return text
    .split('\n')
    .map((line) => line.split('\r\u001B[K').at(-1))
    .join('\n');
}

function tell(lines: readonly string[], columns = 40): { text: string; end: () => string } {
  const stream = recorder([], { isTTY: true, columns });
  const progress = new ProgressLine(stream);
  for (const line of lines) progress.tell(line);
  const { text } = stream;
  return {
    text,
    end: () => {
      progress.clear();
      return stream.text;
    },
  };
}

test('how far it is takes one line, and none in the end', () => {
  const { text, end } = tell(['Counting objects:  50% (1/2)', 'Counting objects: 100% (2/2), done.', '', '  ']);
  expect(screenOf(text)).toBe('Counting objects: 100% (2/2), done.');
  expect(screenOf(end())).toBe('');
});

test('what the other side says stays, what it does goes', () => {
  const lines = [
    'Writing objects: 10%',
    'remote: Resolving deltas: 50% (1/2)',
    'remote: No more room here!',
    'Writing 20%',
  ];
  const { text, end } = tell(lines);
  expect(screenOf(text)).toBe('remote: No more room here!\nWriting 20%');
  expect(screenOf(end())).toBe('remote: No more room here!\n');
});

test('a line fits the terminal, also one that does not know its width, and cannot steer it', () => {
  expect(screenOf(tell(['x'.repeat(100)]).text)).toHaveLength(39);
  expect(screenOf(tell(['x'.repeat(100)], 0).text)).toHaveLength(79);
  expect(tell(['remote: \u001B[2J\u0007']).text).toBe('remote: \uFFFD[2J\uFFFD\n');
});
