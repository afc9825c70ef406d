import { beforeAll, beforeEach, expect, test } from 'vitest';
import { allCommands, createDamageScene, flip, type DamageScene } from './damaged-files.ts';

let scene: DamageScene;

beforeAll(async () => {
  scene = await createDamageScene();
});

beforeEach(() => scene.mend());

test.each([1, 2])('a changed bit in every derived file changes no answer (%i)', async (round) => {
  for (const [place, file] of scene.files.entries()) scene.damage(file, flip(round * scene.files.length + place));
  expect(await scene.differences(allCommands)).toEqual([]);
  // Nor does what was worked out again.
  expect(await scene.differences()).toEqual([]);
});

test.each<[string, (sound: Buffer) => Buffer | 'folder']>([
  ['half of it', (sound) => sound.subarray(0, sound.length / 2)],
  ['nothing', () => Buffer.alloc(0)],
  ['a folder', () => 'folder'],
  ['JSON of another form', () => Buffer.from('{"version":3,"head":"1"}')],
])('%s in the place of every derived file changes no answer', async (_, how) => {
  for (const file of scene.files) scene.damage(file, how);
  expect(await scene.differences()).toEqual([]);
});
