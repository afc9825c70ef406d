import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Bell } from '../../src/worker/bell.ts';

test('a wait of a month is no wait of a moment', async () => {
  const stop = new AbortController();
  const waited = new Bell().wait(30 * 86_400_000, stop.signal).then(() => 'over');
  expect(await Promise.race([waited, sleep(600, 'waiting')])).toBe('waiting');
  stop.abort();
  await waited;
});
