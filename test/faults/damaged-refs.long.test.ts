import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLoopRepository, type CliRepository } from '../helpers/cli.ts';
import { createTemporaryRepository } from '../helpers/temporary-repository.ts';

type Scene = CliRepository & {
  /** A thread in the middle of its work, and one beside it. */
  hurt: string;
  other: string;
  path(name: string): string;
};

async function createScene(): Promise<Scene> {
  const repository = createLoopRepository();
  const ids: string[] = [];
  for (const task of ['hurt', 'other']) {
    const thread = await repository.start('loop', task);
    await repository.json(['thread', 'step', thread]);
    ids.push(thread);
  }
  const [hurt = '', other = ''] = ids;
  return { ...repository, hurt, other, path: (name) => join(repository.dir, '.git', name) };
}

type Row = { thread: string; status: string; head: string | null };

async function statuses(scene: Scene, ...more: string[]): Promise<Record<string, string>> {
  const { stdout } = await scene.uwf(['thread', 'list', '--json', ...more]);
  return Object.fromEntries((JSON.parse(stdout) as Row[]).map(({ thread, status }) => [thread, status]));
}

const losses: readonly (readonly [string, (path: string, value: string) => void])[] = [
  ['empty', (path) => writeFileSync(path, '')],
  ['garbage', (path) => writeFileSync(path, 'garbage\n')],
  ['zeroed', (path, value) => writeFileSync(path, '\0'.repeat(value.length))],
  ['cut off', (path, value) => writeFileSync(path, value.slice(0, 20))],
  ['null', (path) => writeFileSync(path, `${'0'.repeat(40)}\n`)],
];

describe.each(losses)('a loose ref that is %s', (_what, damage) => {
  test('is named by list, show, fsck and doctor, written over by nothing, and harms no other thread', async () => {
    const scene = await createScene();
    const { hurt, other, uwf } = scene;
    const name = `refs/threads/${hurt}`;
    const value = readFileSync(scene.path(name), 'utf8');
    damage(scene.path(name), value);
    const damaged = readFileSync(scene.path(name), 'utf8');
    expect(scene.git('for-each-ref', 'refs/threads/')).not.toContain(hurt);

    expect(await statuses(scene)).toEqual({ [hurt]: 'corrupt', [other]: 'idle' });
    expect(await statuses(scene, '--limit', '1', '--status', 'corrupt')).toEqual({ [hurt]: 'corrupt' });
    for (const command of [['fsck'], ['doctor']]) {
      const { code, all } = await uwf(command);
      expect([code, all]).toEqual([1, expect.stringContaining(name)]);
    }
    for (const command of [['show'], ['run'], ['rm'], ['resume'], ['step'], ['fork'], ['cancel']]) {
      const { code, stderr } = await uwf(['thread', ...command, hurt]);
      expect([command, code, stderr]).toEqual([command, 1, expect.stringContaining(`${name} is broken`)]);
    }
    expect((await uwf(['gc'])).code).toBe(0);
    expect((await uwf(['thread', 'run', other])).code).toBe(0);
    expect(readFileSync(scene.path(name), 'utf8')).toBe(damaged);

    // As the hint says.
    rmSync(scene.path(name));
    scene.git('update-ref', name, value.trim());
    expect((await uwf(['thread', 'run', hurt])).code).toBe(0);
    expect((await uwf(['fsck'])).code).toBe(0);
  });
});

test('a ref whose commit is missing is named by list, show, fsck and doctor, whatever is remembered of it', async () => {
  const scene = await createScene();
  const { hurt, other, uwf } = scene;
  await uwf(['thread', 'list']);
  const name = `refs/threads/${hurt}`;
  const head = scene.git('rev-parse', name);
  // Its pack goes, as with a disk that has lost it.
  const packs = readdirSync(scene.path('objects/pack')).filter((file) => file.endsWith('.idx'));
  const lost = packs.filter((file) =>
    scene.git('verify-pack', '-v', scene.path(`objects/pack/${file}`)).includes(head),
  );
  for (const file of lost) rmSync(scene.path(`objects/pack/${file}`));
  expect(() => scene.git('fsck')).toThrow(name);
  expect(await statuses(scene)).toEqual({ [hurt]: 'corrupt', [other]: 'idle' });
  for (const command of [['fsck'], ['doctor'], ['thread', 'show', hurt]]) {
    const { code, all } = await uwf(command);
    expect([code, all]).toEqual([1, expect.stringContaining(head.slice(0, 12))]);
  }
  expect(scene.git('rev-parse', name)).toBe(head);
  expect((await uwf(['thread', 'run', other])).code).toBe(0);
});

describe.each([
  ['cut off', (path: string) => truncateSync(path, readFileSync(path).length - 12)],
  ['zeroed', (path: string) => writeFileSync(path, Buffer.alloc(readFileSync(path).length))],
  ['zeroed from its middle on', (path: string) => writeFileSync(path, readFileSync(path).fill(0, 120))],
  [
    'hurt in one byte',
    (path: string) => writeFileSync(path, readFileSync(path, 'latin1').replace('\n', '\nz'), 'latin1'),
  ],
])('a packed-refs that is %s', (_what, damage) => {
  test('is named by list, fsck and doctor, and written over by nothing', async () => {
    const scene = await createScene();
    const { hurt, other, uwf } = scene;
    scene.git('pack-refs', '--all', '--prune');
    const path = scene.path('packed-refs');
    const whole = readFileSync(path);
    damage(path);
    const damaged = readFileSync(path);
    expect(() => scene.git('for-each-ref')).toThrow(/line in .*packed-refs/);
    for (const command of [['thread', 'list'], ['fsck'], ['doctor'], ['thread', 'start', 'loop', '-p', 'x']]) {
      const { code, all } = await uwf(command);
      expect([command, code, all]).toEqual([command, 1, expect.stringContaining('packed-refs')]);
    }
    for (const thread of [hurt, other]) {
      const { code, stderr } = await uwf(['thread', 'rm', '--force', thread]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('packed-refs')]);
    }
    expect(readFileSync(path)).toEqual(damaged);
    writeFileSync(path, whole);
    expect((await uwf(['thread', 'run', hurt])).code).toBe(0);
  });
});

test('an empty packed-refs, which git reads as no refs, is named by list, fsck and doctor', async () => {
  const scene = await createScene();
  scene.git('pack-refs', '--all', '--prune');
  writeFileSync(scene.path('packed-refs'), '');
  for (const command of [['thread', 'list'], ['fsck'], ['doctor']]) {
    const { code, all } = await scene.uwf(command);
    expect([command, code, all]).toEqual([command, 1, expect.stringContaining('packed-refs')]);
  }
});

test('what was put under a thread and kept of it stays when its ref is damaged and garbage is collected', async () => {
  const scene = await createScene();
  const { hurt, uwf } = scene;
  expect((await uwf(['cas', 'put', 'kept', '--thread', hurt])).code).toBe(0);
  const scratch = scene.git('rev-parse', `refs/uwf/scratch/${hurt}`);
  writeFileSync(scene.path(`refs/threads/${hurt}`), '');
  expect((await uwf(['gc'])).code).toBe(0);
  expect(scene.git('rev-parse', `refs/uwf/scratch/${hurt}`)).toBe(scratch);
});

test('a damaged registration is named by workflow list and fsck', async () => {
  const scene = await createScene();
  const path = scene.path('refs/workflows/lost');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, '');
  const rows = (await scene.json(['workflow', 'list'])) as { name: string; problem: string | null }[];
  expect(rows.find(({ name }) => name === 'lost')?.problem).toContain('broken');
  expect((await scene.uwf(['fsck'])).all).toContain('refs/workflows/lost');
});

test('a fetch refuses what would be written over a damaged ref, and brings all else', async () => {
  const scene = await createScene();
  const { hurt, other, uwf } = scene;
  const remote = createTemporaryRepository({ bare: true });
  await uwf(['push', '--all', remote.dir]);
  scene.git('update-ref', '-d', `refs/threads/${other}`);
  writeFileSync(scene.path(`refs/threads/${hurt}`), '');
  const { code, all } = await uwf(['fetch', remote.dir]);
  expect([code, all]).toEqual([1, expect.stringMatching(new RegExp(`refused.*${hurt}.*damaged`))]);
  expect(await statuses(scene)).toEqual({ [hurt]: 'corrupt', [other]: 'idle' });
  expect(readFileSync(scene.path(`refs/threads/${hurt}`), 'utf8')).toBe('');
});
