import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, patient, unfinishedBelow, until } from './scene.ts';

test('where there are no hard links runs work, one process at a time, and what a killed one leaves blocks nothing', async () => {
  const env = { NODE_OPTIONS: `--require ${join(import.meta.dirname, 'no-links-preload.cjs')}` };
  const scene = createScene({
    '.uwf/workflows/pair.yaml': chain('pair', ['one', 'two']),
    '.uwf/config.yaml': config(['./agent']),
    agent: patient,
  });
  const started = await scene.uwf(['thread', 'start', 'pair', '-p', 'x', '--json'], { env });
  const thread = String(started.json[0]?.['thread']);
  const first = scene.start(['thread', 'run', thread], { env });
  await until('the agent works', () => scene.lines('turns').length === 1);
  expect((await scene.uwf(['thread', 'run', thread], { env })).code).toBe(5);
  first.process.kill('SIGKILL');
  await first.outcome;
  scene.write('go', '');
  expect(await scene.uwf(['thread', 'run', thread], { env })).toMatchObject({ code: 0 });
  // The killed one's turn was cut off; each role has stored one step.
  expect(scene.lines('turns')).toEqual(['one', 'one', 'two']);
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expectCleanFsck(scene.dir);
});
