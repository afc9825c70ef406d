import { expect, test } from 'vitest';
import { describeThread } from '../../../src/engine/describe/describe.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { nextOfMessage } from '../../../src/thread/commit-message.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { readChain } from '../../../src/thread/thread-chain.ts';
import { verifyThread } from '../../../src/verify/verify-threads.ts';
import { runGit } from '../../helpers/temporary-repository.ts';
import {
  createFixture,
  expectSound,
  reply,
  scripted,
  statuses,
  workflow,
  type EngineFixture,
} from '../engine-fixture.ts';

const definition = workflow('pair', { first: statuses('done'), second: statuses('done', 'again') }, [
  { from: '__start__', to: 'first', when: null },
  // Rules see the hash of the newest step, so its node cannot say what they decide.
  { from: 'first', to: 'second', when: '$length($steps[-1].hash) = 13' },
  { from: 'second', to: 'first', when: "$steps[-1].status = 'again'" },
  { from: 'second', to: '__end__', when: null },
]);

async function afterSteps(count: number): Promise<EngineFixture & { thread: string }> {
  const second = [reply('again'), reply('done')];
  const fixture = await createFixture(scripted({ first: [reply('done'), reply('done')], second }));
  const { thread } = await fixture.engine.start({ definition, prompt: 'Go.' });
  for (let at = 0; at < count; at += 1) await fixture.engine.step(thread);
  return { ...fixture, thread };
}

test('the message of each step says who is next', async () => {
  const { repository, dir, thread } = await afterSteps(4);
  const told: (string | undefined)[] = [];
  for await (const { kind, commit } of readChain(repository, (await getThread(repository, thread)).head)) {
    if (kind === 'step') told.unshift(nextOfMessage(commit.message));
  }
  expect(told).toEqual(['second', 'first', 'second', '__end__']);
  await expectSound({ repository, dir });
});

test.each(['ghost', 'first', '__end__'])('a head that says %s is next, and not who it is, is named', async (name) => {
  const { repository, dir, git, thread } = await afterSteps(1);
  const ref = `refs/threads/${thread}`;
  expect((await describeThread(readingContext(repository), thread)).nextRole).toBe('second');
  const forged = `${git('cat-file', 'commit', ref)}\n`.replace('Uwf-Next: second', `Uwf-Next: ${name}`);
  git('update-ref', ref, runGit(dir, ['hash-object', '-t', 'commit', '-w', '--stdin'], forged).trim());
  const { findings } = await verifyThread(readingContext(repository), thread);
  expect(findings.map(({ what }) => what)).toEqual([expect.stringContaining(`${name} is next; by the rules`)]);
});

test('a head that does not say it is shown as the rules decide', async () => {
  const { repository, dir, git, thread } = await afterSteps(1);
  const ref = `refs/threads/${thread}`;
  const silent = `${git('cat-file', 'commit', ref)}\n`.replace('\nUwf-Next: second', '');
  git('update-ref', ref, runGit(dir, ['hash-object', '-t', 'commit', '-w', '--stdin'], silent).trim());
  expect((await describeThread(readingContext(repository), thread)).nextRole).toBe('second');
  await expectSound({ repository, dir });
});
