import { expect, test } from 'vitest';
import { killArchives } from './torn-archive.ts';

test('an archive or its push that is killed loses no thread, and the next one completes', async () => {
  expect(await killArchives(4)).toBeGreaterThan(2);
}, 300_000);
