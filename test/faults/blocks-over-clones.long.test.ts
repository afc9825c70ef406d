import { expect, test } from 'vitest';
import { createTemporaryFolder, expectCleanFsck, runGit } from '../helpers/temporary-repository.ts';
import { createBlockScene, environmentOf, paidTurns, storedTurns } from './block-scene.ts';
import type { Scene } from './scene.ts';

/** How many threads are run; a campaign by hand takes more. */
const THREADS = Number(process.env['SUITE_BLOCK_CLONES'] ?? 2);

/** Two repositories with one remote. */
function createClones(): [Scene, Scene] {
  const remote = createTemporaryFolder();
  runGit(remote, ['init', '-q', '--bare', '.']);
  const scenes: [Scene, Scene] = [createBlockScene(), createBlockScene()];
  for (const [at, scene] of scenes.entries()) {
    scene.git('remote', 'add', 'origin', remote);
    scene.git('push', '-q', 'origin', `HEAD:refs/heads/code-${at}`);
  }
  return scenes;
}

async function ok(scene: Scene, ...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, stderr, json } = await scene.uwf(args, { env: environmentOf(scene) });
  if (code !== 0) throw new Error(`uwf ${args.join(' ')}: ${stderr}`);
  return json;
}

/** Runs a thread; kills the process after some time. @returns false if it had ended before */
async function runFor(scene: Scene, thread: string, ms: number): Promise<boolean> {
  const running = scene.start(['thread', 'run', thread], { env: environmentOf(scene) });
  const timer = setTimeout(() => running.process.kill('SIGKILL'), ms);
  const { signal } = await running.outcome;
  clearTimeout(timer);
  return signal === 'SIGKILL';
}

test('a block that two clones run in turn, each killed, pays no turn twice that was pushed', async () => {
  const clones = createClones();
  const [one, two] = clones;
  for (let at = 0; at < THREADS; at += 1) {
    const [started] = await ok(one, 'thread', 'start', 'outer', '-p', 'Go.', '--json');
    const thread = String(started?.['thread']);
    await ok(one, 'push', '--all');
    let isKilled = true;
    for (let turn = 1; isKilled; turn += 1) {
      const scene = turn % 2 === 0 ? one : two;
      await ok(scene, 'fetch');
      const pushed = storedTurns(scene);
      const paid = [paidTurns(one), paidTurns(two)];
      isKilled = await runFor(scene, thread, turn < 5 ? 700 * (turn + at) : 600_000);
      const after = [paidTurns(one), paidTurns(two)];
      const twice = pushed.filter((each) => after.some((now, clone) => now.get(each) !== paid[clone]?.get(each)));
      expect({ thread, turn, twice }).toEqual({ thread, turn, twice: [] });
      await ok(scene, 'push', '--all');
    }
    await ok(one, 'sync');
    await ok(two, 'sync');
    for (const scene of clones) {
      const steps = await ok(scene, 'step', 'list', thread, '--json');
      expect(steps.map(({ role }) => role)).toEqual(['planner', 'teams', 'closer']);
      await ok(scene, 'thread', 'verify', thread);
    }
  }
  for (const scene of clones) {
    expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
    expect(scene.git('for-each-ref', 'refs/history').split('\n')).toHaveLength(13 * THREADS);
    expectCleanFsck(scene.dir);
  }
}, 1_800_000);

test('a block that two clones run at the same time gives forks, and nothing is lost', async () => {
  const clones = createClones();
  const [one, two] = clones;
  const [started] = await ok(one, 'thread', 'start', 'outer', '-p', 'Go.', '--json');
  const thread = String(started?.['thread']);
  await ok(one, 'push', '--all');
  await ok(two, 'fetch');
  await Promise.all(clones.map((scene) => ok(scene, 'thread', 'run', thread)));
  const commitsOf = (scene: Scene): string[] =>
    scene.git('rev-list', '--glob=refs/threads', '--glob=refs/history').split('\n');
  const all = new Set(clones.flatMap(commitsOf));
  for (const scene of [one, two, one, two]) await ok(scene, 'sync');
  for (const scene of clones) {
    const kept = new Set(commitsOf(scene));
    expect([...all].filter((commit) => !kept.has(commit))).toEqual([]);
    await ok(scene, 'fsck');
    expectCleanFsck(scene.dir);
  }
}, 1_800_000);
