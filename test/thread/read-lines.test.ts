import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readLines } from '../../src/thread/export-thread.ts';

async function linesOf(chunks: (Uint8Array | string)[], maxBytes?: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of readLines(Readable.from(chunks), maxBytes)) lines.push(line);
  return lines;
}

describe('lines', () => {
  test('are read across chunks, of bytes or texts', async () => {
    expect(await linesOf(['a\nb', 'c\n', '\n', Buffer.from('d'), 'e\n'])).toEqual(['a', 'bc', '', 'de']);
    expect(await linesOf([])).toEqual([]);
    const [first, second] = [Buffer.from('ü\n').subarray(0, 1), Buffer.from('ü\n').subarray(1)];
    expect(await linesOf([first, second])).toEqual(['ü']);
    expect(await linesOf(['\ufeffa\n'])).toEqual(['\ufeffa']);
  });

  test('are refused where they are too long, are cut off or are no UTF-8', async () => {
    expect(await linesOf(['abc\nabc\n'], 3)).toEqual(['abc', 'abc']);
    await expect(linesOf(['a\nabcd\n'], 3)).rejects.toMatchObject({ line: 2, reason: 'it is longer than 3 bytes' });
    await expect(linesOf(['ab', 'cd'], 3)).rejects.toMatchObject({ line: 1, reason: 'it is longer than 3 bytes' });
    await expect(linesOf(['a\nb'])).rejects.toMatchObject({ line: 2, reason: 'the file ends within it' });
    await expect(linesOf([Buffer.from([0xff, 0x0a])])).rejects.toThrow('(line 1): it is not UTF-8');
  });
});
