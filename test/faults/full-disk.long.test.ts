import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTemporaryFolder, expectCleanFsck, runGit } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, filesBelow, unfinishedBelow } from './scene.ts';
import type { Scene, UwfOutcome } from './scene.ts';

const preload = join(import.meta.dirname, 'faulty-fs-preload.cjs');

/** Every so many calls one is where the disk becomes full. Each of them, with 1, takes minutes. */
const STRIDE = 5;

/** A turn that leaves a node behind it, and nothing in the work tree: that may be on the full disk as well. */
const silent = `#!/bin/sh
printf -- '---\\n$status: done\\n---\\n%s has done its work.\\n' "$UWF_ROLE"
`;

const files = {
  '.uwf/workflows/chain.yaml': chain('chain', ['one', 'two']),
  '.uwf/config.yaml': config(['./agent']),
  agent: silent,
};

function run(scene: Scene, env: Record<string, string> = {}): Promise<UwfOutcome> {
  return scene.uwf(['run', 'chain', '-p', 'do it', '--json'], { env });
}

function fault(code: string, at: number): Record<string, string> {
  return { NODE_OPTIONS: `--require ${preload}`, UWF_FAULT: code, UWF_FAULT_AT: String(at) };
}

/** After a run that could not write: the right error, whole refs, nothing half-written, and a thread that can go on. */
function expectStorageError(scene: Scene, { code, stderr }: UwfOutcome, error: string): void {
  expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining(`"code":"${error}"`) });
  const { hint, path } = (JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? '') as { error: Record<string, string> })
    .error;
  expect(hint).toMatch(/./);
  expect(path).toContain(scene.gitDir);
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expect(scene.git('count-objects', '-v')).toMatch(/^garbage: 0$/m);
  expectCleanFsck(scene.dir);
}

async function expectAllGoOn(scene: Scene): Promise<number> {
  const threads = scene.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads').split('\n').filter(Boolean);
  for (const thread of threads) {
    const { code, json } = await scene.uwf(['thread', 'run', thread, '--json']);
    expect({ code, last: json.at(-1) }).toMatchObject({ code: 0, last: { event: 'thread.ended' } });
  }
  expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
  expectCleanFsck(scene.dir);
  return threads.length;
}

describe('a disk that is full', () => {
  test('from a call of a run on, whichever, ends it with 1 and the name of what could not be written', async () => {
    const scenes = [createScene(files), createScene(files)];
    const [first] = scenes;
    const calls = join(first?.dir ?? '', 'calls');
    // The first run of a build may write down what V8 has compiled.
    await run(first!);
    await run(first!, { NODE_OPTIONS: `--require ${preload}`, UWF_FAULT: 'ENOSPC', UWF_FAULT_COUNT: calls });
    const count = Number(readFileSync(calls, 'utf8'));
    expect(count).toBeGreaterThan(80);
    const failures = await Promise.all(
      scenes.map(async (scene, lane) => {
        let failed = 0;
        for (let at = 1 + lane * STRIDE + (count % STRIDE); at <= count; at += scenes.length * STRIDE) {
          const outcome = await run(scene, fault('ENOSPC', at));
          // What comes last is only remembered, and may be lost.
          if (outcome.code === 0) continue;
          failed += 1;
          expectStorageError(scene, outcome, 'storage-full');
        }
        return failed;
      }),
    );
    expect(failures[0]! + failures[1]!).toBeGreaterThan((count / STRIDE) * 0.8);
    // Some had not started, some had one step, some lacked their end only.
    const goneOn = await Promise.all(scenes.map((scene) => expectAllGoOn(scene)));
    expect(goneOn[0]! + goneOn[1]!).toBeGreaterThan(10);
  }, 300_000);

  test.skipIf(!canMount())('of whatever room there was before: the same with a real one', async () => {
    const scene = createSmallDisk(files);
    const { dir } = scene;
    const filler = join(dir, 'filler');
    const outcomes: (number | null)[] = [];
    for (let pages = 0; outcomes.at(-1) !== 0; pages += 24) {
      rmSync(filler, { force: true });
      const { bavail, bsize } = statfsSync(dir);
      writeFileSync(filler, Buffer.alloc((bavail - pages) * bsize));
      const outcome = await run(scene);
      outcomes.push(outcome.code);
      if (outcome.code !== 0) expectStorageError(scene, outcome, 'storage-full');
      expect(pages).toBeLessThan(800);
    }
    rmSync(filler);
    expect(outcomes.length).toBeGreaterThan(3);
    await expectAllGoOn(scene);
  });

  /**
   * An agent that fills the disk while it works, and says two letters for each of so many bytes. Of all characters, chance makes
   * something that looks like a secret now and then.
   */
  const filling = (bytes: number): string => `#!/bin/sh
echo "$UWF_ROLE" >> turns
said=$(head -c ${bytes} /dev/urandom | od -An -v -tx1 | tr -d ' \\n' | tr 0-9a-f a-p)
dd if=/dev/zero of=filler bs=4k 2>/dev/null
printf -- '---\\n$status: done\\n---\\n%s the end.\\n' "$said"
`;

  test.skipIf(!canMount())('by the time that the agent has finished: its reply has a place all the same', async () => {
    const scene = createSmallDisk({ ...files, agent: filling(10_000) });
    expectStorageError(scene, await run(scene), 'storage-full');
    // The second role finds that there is no room, and does not begin.
    expect(scene.lines('turns')).toEqual(['one']);
    expect(scene.git('log', '--format=%s', '--glob=refs/threads').split('\n')).toHaveLength(2);
    rmSync(join(scene.dir, 'filler'));
    scene.write('agent', silent);
    await expectAllGoOn(scene);
  });

  test.skipIf(!canMount())('and a reply that is larger than that place is printed', async () => {
    const scene = createSmallDisk({ ...files, agent: filling(1_000_000) });
    const outcome = await run(scene);
    expect(outcome.code).toBe(1);
    const { error } = JSON.parse(outcome.stderr.trimEnd().split('\n').at(-1) ?? '') as {
      error: Record<string, unknown>;
    };
    expect(error).toMatchObject({ code: 'storage-full', isKept: false, role: 'one' });
    const [said, ...after] = String(error['message']).trimEnd().split(' ').slice(-3);
    expect(after).toEqual(['the', 'end.']);
    expect(said?.slice(-2_000_000)).toMatch(/^[a-p]{2000000}$/);
    expect(unfinishedBelow(scene.gitDir)).toEqual([]);
    expectCleanFsck(scene.dir);
  });
});

/** A repository on a disk of a few MiB. */
function createSmallDisk(content: Readonly<Record<string, string>>): Scene {
  const dir = createTemporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', dir]);
  onTestFinished(() => void execFileSync('umount', ['--lazy', dir]));
  runGit(dir, ['init', '--quiet']);
  const git = (...args: string[]): string => runGit(dir, args);
  return createScene(content, { dir, git, open: () => Promise.reject(new Error('not used')), remove: () => {} });
}

describe('a repository that may only be read', () => {
  const writing = (thread: string): string[][] => [
    ['run', 'chain', '-p', 'do it'],
    ['thread', 'start', 'chain', '-p', 'do it'],
    ['thread', 'run', thread],
    ['thread', 'run', thread, '--background'],
    ['thread', 'step', thread],
    ['thread', 'cancel', thread],
    ['thread', 'rm', thread, '--force'],
    ['cas', 'put', 'a text', '--thread', thread],
    ['cas', 'put', 'a text'],
    ['workflow', 'add', '.uwf/workflows/chain.yaml'],
  ];
  const reading = (thread: string): string[][] => [
    ['thread', 'list'],
    ['thread', 'show', thread],
    ['thread', 'read', thread],
    ['step', 'list', thread],
    ['log', thread],
    ['cas', 'list', '--thread', thread],
    ['thread', 'stop', thread],
    ['thread', 'join', thread],
    ['workflow', 'list'],
  ];

  async function createThreadScene(): Promise<{ scene: Scene; thread: string }> {
    const scene = createScene(files);
    const thread = await scene.startThread('chain');
    expect((await scene.uwf(['thread', 'step', thread])).code).toBe(0);
    // What is remembered is forgotten, so that reading has to do without.
    rmSync(join(scene.gitDir, 'uwf'), { recursive: true });
    return { scene, thread };
  }

  async function expectRefused(
    { scene, thread }: { scene: Scene; thread: string },
    uwf: (argv: string[]) => Promise<Pick<UwfOutcome, 'code' | 'stderr'>>,
  ): Promise<void> {
    const before = filesBelow(scene.gitDir);
    for (const argv of writing(thread)) {
      const { code, stderr } = await uwf([...argv, '--json']);
      expect({ argv, code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('storage-read-only') });
      expect(filesBelow(scene.gitDir)).toEqual(before);
    }
    for (const argv of reading(thread)) expect({ argv, ...(await uwf(argv)) }).toMatchObject({ code: 0 });
    expect(filesBelow(scene.gitDir)).toEqual(before);
    expectCleanFsck(scene.dir);
  }

  test('is read as ever, and refuses every command that writes with 1', async () => {
    const made = await createThreadScene();
    await expectRefused(made, (argv) => made.scene.uwf(argv, { env: fault('EROFS', 1) }));
  });

  test.skipIf(!canMount())('the same on a file system that is really read-only', async () => {
    const made = await createThreadScene();
    const { gitDir } = made.scene;
    execFileSync('mount', ['--bind', gitDir, gitDir]);
    onTestFinished(() => void execFileSync('umount', ['--lazy', gitDir]));
    execFileSync('mount', ['-o', 'remount,ro,bind', gitDir]);
    await expectRefused(made, (argv) => made.scene.uwf(argv));
  });

  test('is one from the middle of a run on, too', async () => {
    const scene = createScene(files);
    for (const at of [10, 25, 40, 55, 70, 85, 100, 115, 130]) {
      const { code, stderr } = await run(scene, fault('EROFS', at));
      expect({ at, code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('storage-read-only') });
      expectCleanFsck(scene.dir);
    }
    await expectAllGoOn(scene);
    // What could not be taken away then is taken away by those that come after.
    expect((await run(scene)).code).toBe(0);
    expect(unfinishedBelow(scene.gitDir).filter((name) => !name.startsWith('objects/pack/tmp_'))).toEqual([]);
  });
});

/** Whether this process may mount: as root, outside of a container that forbids it. */
function canMount(): boolean {
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
