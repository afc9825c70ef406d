import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCliRepository, createLoopRepository, type CliRepository } from '../../helpers/cli.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

function packsOf({ dir }: CliRepository): number {
  return readdirSync(join(dir, '.git/objects/pack')).filter((name) => name.endsWith('.pack')).length;
}

/** Gives a command again and again; returns the most packs that there were. */
async function mostPacks(repository: CliRepository, times: number, argvOf: (at: number) => string[]): Promise<number> {
  let most = 0;
  for (let at = 0; at < times; at += 1) {
    expect(await repository.uwf(argvOf(at))).toMatchObject({ code: 0 });
    most = Math.max(most, packsOf(repository));
  }
  return most;
}

test('commands that write again and again leave no more packs than git lets gather', async () => {
  const repository = createLoopRepository();
  const put = (at: number): string[] => ['cas', 'put', `text ${at}`];
  expect(await mostPacks(repository, 60, put)).toBe(49);
  expect(packsOf(repository)).toBeLessThan(15);
  const start = (at: number): string[] => ['thread', 'start', 'loop', '-p', `task ${at}`];
  expect(await mostPacks(repository, 50, start)).toBe(49);
  expect(await repository.json(['cas', 'list'])).toHaveLength(60);
  expect(await repository.json(['thread', 'list'])).toHaveLength(50);
  expectCleanFsck(repository.dir);
});

test('with foldPacks: false they leave them', async () => {
  const repository = createCliRepository({ '.uwf/config.yaml': 'foldPacks: false\n' });
  expect(await mostPacks(repository, 52, (at) => ['cas', 'put', `text ${at}`])).toBe(52);
});
