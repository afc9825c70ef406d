import { expect, test } from 'vitest';
import { verifyThreads } from '../../../src/verify/verify-threads.ts';
import { createBlockFixture, runTeam } from './block-fixture.ts';

test('a thread with blocks of each join verifies', async () => {
  const fixture = await createBlockFixture();
  await runTeam(fixture);
  for await (const v of verifyThreads({ repository: fixture.repository })) {
    expect(v.findings).toEqual([]);
  }
});
