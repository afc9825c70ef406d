import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fsck, verifyThreads } from '../../src/verify/verify-threads.ts';
import { runCommand } from '../helpers/cli.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { runGit } from '../helpers/temporary-repository.ts';
import { createBlockFixture, runTeam } from './blocks/block-fixture.ts';

test('a thread with blocks of each join verifies, with its branches, here and where it was fetched', async () => {
  const fixture = await createBlockFixture();
  const thread = await runTeam(fixture);
  let threads = 0;
  for await (const { findings } of verifyThreads({ repository: fixture.repository })) {
    expect(findings).toEqual([]);
    threads += 1;
  }
  // The thread and its branches, some of which have branches.
  expect(threads).toBeGreaterThan(12);
  const there = join(fixture.dir, 'there');
  runGit(fixture.dir, ['init', '-q', there]);
  const fetched = await runCommand(['fetch', fixture.dir, thread], { cwd: there });
  expect(fetched).toMatchObject({ code: 0 });
  const repository = await openRepository(there);
  for await (const { findings } of fsck({ repository })) expect(findings).toEqual([]);
  expect((await runCommand(['thread', 'verify', thread], { cwd: there })).stdout).toContain('is sound');
});
