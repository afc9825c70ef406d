import { expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, diligent, unfinishedBelow } from './scene.ts';

test('80 `thread start`, 16 at a time, make 80 threads', async () => {
  const scene = createScene({
    '.uwf/workflows/chain.yaml': chain('chain', ['one']),
    '.uwf/config.yaml': config(['./agent']),
    agent: diligent,
  });
  const threads: unknown[] = [];
  const lane = async (number: number): Promise<void> => {
    for (let i = 0; i < 5; i += 1) {
      const { code, json, stderr } = await scene.uwf(['thread', 'start', 'chain', '-p', `${number} ${i}`, '--json']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      threads.push(json[0]?.['thread']);
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, number) => lane(number)));
  expect(new Set(threads).size).toBe(80);
  const refs = scene.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads').split('\n');
  expect(new Set(refs)).toEqual(new Set(threads));
  const { json } = await scene.uwf(['thread', 'list', '--json']);
  expect(new Set(json.map(({ thread }) => thread))).toEqual(new Set(threads));
  expect(json).toHaveLength(80);
  expect(new Set(json.map(({ prompt }) => prompt)).size).toBe(80);
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expectCleanFsck(scene.dir);
}, 180_000);
