import { expect, test } from 'vitest';
import type { Config } from '../../../src/engine/config/config.ts';
import { countPacks } from '../../../src/git/maintenance/repack.ts';
import { expectCleanFsck, isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import { configOf, createFixture, reply, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

/** `SUITE_FOLD_STEPS=1000 npx vitest run test/engine/turn/repack-meanwhile.long.test.ts` is the long run. */
const steps = Number(process.env['SUITE_FOLD_STEPS'] ?? 80);

const onAndOn = workflow('on-and-on', { writer: statuses('more', 'done') }, [
  { from: '__start__', to: 'writer', when: null },
  { from: 'writer', to: 'writer', when: `$visits('writer') < ${steps}` },
  { from: 'writer', to: '__end__', when: null },
]);

const writer = { package: 'builtin:command', config: { argv: ['printf', '%s', reply('more', 'A line.')] } };

/** Runs the thread to its end. @returns the most packs that there were after a step */
async function run(config: Config): Promise<EngineFixture & { mostPacks: number }> {
  let mostPacks = 0;
  const fixture: EngineFixture = await createFixture(config, {
    onEvent: ({ event }) => {
      const { location } = fixture.repository;
      if (event === 'step.started' && location)
        mostPacks = Math.max(mostPacks, countPacks({ location, env: isolatedGitEnvironment }));
    },
  });
  const { thread } = await fixture.engine.start({ definition: onAndOn, prompt: 'Write on.' });
  expect(await fixture.engine.run(thread)).toMatchObject({ event: 'thread.ended', status: 'ended' });
  return { ...fixture, mostPacks };
}

test('however long a thread runs, there are never many packs', async () => {
  const { dir, git, mostPacks } = await run(configOf({ writer }));
  expect(mostPacks).toBeGreaterThanOrEqual(9);
  // A step waits two seconds for the folding that it started; 50 is where git itself would start one.
  expect(mostPacks).toBeLessThanOrEqual(15);
  expect(git('for-each-ref', '--format=%(refname)', 'refs/history')).not.toBe('');
  expectCleanFsck(dir);
}, 600_000);

test('folding can be turned off', async () => {
  const { mostPacks } = await run({ ...configOf({ writer }), foldPacks: false });
  expect(mostPacks).toBe(steps);
}, 600_000);
