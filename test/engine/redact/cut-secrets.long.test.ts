import { expect, test } from 'vitest';
import { planRedaction } from '../../../src/engine/redact/redact-thread.ts';
import { createRedactor } from '../../../src/redaction/create-redactor.ts';
import { fsck } from '../../../src/verify/verify-threads.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { createBlockFixture, replies, runTeam } from '../../verify/blocks/block-fixture.ts';
import { reply } from '../engine-fixture.ts';

const secret = 'acme_abcdefghijklmnopqrstuvwxyz012345';

test.each([975, 990])('a secret %i characters into a branch leaves nothing where its block cut it', async (place) => {
  const text = `${'x'.repeat(place)} ${secret} and more.`;
  const fixture = await createBlockFixture({}, { ...replies, reviewer: [reply('done', text)] });
  const thread = await runTeam(fixture);
  const { repository, git } = fixture;
  const commitsWithParts = async (id: string): Promise<string> => {
    const { head } = await getThread(repository, id);
    return git('log', '-p', '--root', '-m', '--text', '-S', 'acme_a', '--format=%H', head);
  };
  expect(await commitsWithParts(thread)).not.toBe('');
  const rules = [{ name: 'acme-token', pattern: 'acme_[a-z0-9]{32}' }];
  const redactor = createRedactor({ key: new Uint8Array(32), known: [], rules });
  const { apply, threads } = await planRedaction(repository, redactor, thread);
  await apply();
  for await (const { findings } of fsck({ repository })) expect(findings).toEqual([]);
  const now = threads.find((each) => each.thread === thread)?.now;
  expect(await commitsWithParts(now ?? '')).toBe('');
});
