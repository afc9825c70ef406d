import { describe, expect, test } from 'vitest';
import { readingContext } from '../../src/engine/engine-context.ts';
import { verifyThreads } from '../../src/verify/verify-threads.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { createDice, growThread } from './grow-thread.ts';

/** `SUITE_THREADS=1000 npx vitest run test/verify/verification.test.ts` is the long run. */
const threads = Number(process.env['SUITE_THREADS'] ?? 60);

describe('verifying threads', () => {
  test('finds nothing wrong with many threads', async () => {
    const repository = createMapRepository();
    const dice = createDice(1);
    for (let count = 0; count < threads; count++) await growThread(repository, dice);
    let verified = 0;
    for await (const verdict of verifyThreads(readingContext(repository))) {
      expect(verdict).toMatchObject({ findings: [] });
      verified += 1;
    }
    expect(verified).toBeGreaterThanOrEqual(threads);
  });
});
