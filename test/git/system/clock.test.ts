import { expect, test } from 'vitest';
import { checkedClock } from '../../../src/git/open-repository.ts';
import { createLoopRepository } from '../../helpers/cli.ts';

test.each([-1, Date.UTC(10_000, 0, 1), 2 ** 48, 8.64e15 + 1, Number.NaN])(
  'a clock that shows %d is refused',
  (nowMs) => {
    expect(checkedClock(() => nowMs)).toThrow('is not between the years 1970 and 9999');
  },
);

test('a machine with such a clock writes no thread, and reads those that are there', async () => {
  const { uwf, json } = createLoopRepository();
  const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  const now = (): number => -1_000;
  for (const words of [
    ['run', 'loop', '-p', 'x'],
    ['thread', 'run', thread],
    ['thread', 'cancel', thread],
    ['thread', 'fork', thread],
  ])
    expect(await uwf(words, { now })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('hint: set the clock'),
    });
  expect(await json(['thread', 'show', thread], { now })).toMatchObject({ status: 'idle', steps: 0 });
});
