import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { OutputFlood, readOutputLines } from '../../../src/agent/processes/start-program.ts';

async function linesOf(chunks: string[], maxBytes = 100): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readOutputLines(Readable.from(chunks), maxBytes)) lines.push(line.toString());
  return lines;
}

test('lines may lie across chunks, and the last one needs no end', async () => {
  expect(await linesOf(['on', 'e\ntwo\n\nth', 'ree'])).toEqual(['one', 'two', '', 'three']);
  expect(await linesOf(['one\n'])).toEqual(['one']);
  expect(await linesOf([])).toEqual([]);
});

test('a line that is too long is read no further', async () => {
  await expect(linesOf(['short\n', 'x'.repeat(60), 'x'.repeat(60)])).rejects.toThrow(OutputFlood);
});
