import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { createBlockScene, environmentOf, paidTurns, storedTurns } from './block-scene.ts';
import type { Scene, UwfOutcome } from './scene.ts';

/** How many runs are killed; a campaign by hand takes 200. */
const KILLS = Number(process.env['SUITE_BLOCK_KILLS'] ?? 6);

const preload = { NODE_OPTIONS: `--require ${join(import.meta.dirname, 'faulty-fs-preload.cjs')}` };

/** Runs a thread and kills the process at a share of its disk calls, or of its time. */
async function killAt(scene: Scene, thread: string, share: number, calls: number, tookMs: number): Promise<UwfOutcome> {
  if (share * 2 < 1) {
    const env = environmentOf(scene);
    const at = String(1 + Math.floor(calls * share * 2));
    return scene.uwf(['thread', 'run', thread], { env: { ...env, ...preload, UWF_FAULT: 'kill', UWF_FAULT_AT: at } });
  }
  const running = scene.start(['thread', 'run', thread], { env: environmentOf(scene) });
  await sleep(tookMs * (share * 2 - 1));
  running.process.kill('SIGKILL');
  return running.outcome;
}

test(`blocks that are killed at ${KILLS} moments pay no stored turn twice and leave nothing over`, async () => {
  const scene = createBlockScene();
  const env = environmentOf(scene);
  const start = async (): Promise<string> => {
    const { json } = await scene.uwf(['thread', 'start', 'outer', '-p', 'Go.', '--json'], { env });
    return String(json[0]?.['thread']);
  };
  const counted = { ...env, ...preload, UWF_FAULT: 'kill', UWF_FAULT_COUNT: 'calls' };
  const whole = await scene.uwf(['thread', 'run', await start()], { env: counted });
  expect(whole).toMatchObject({ code: 0 });
  const calls = Number(readFileSync(join(scene.dir, 'calls'), 'utf8'));
  let killed = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const thread = await start();
    const outcome = await killAt(scene, thread, (kill + 0.5) / KILLS, calls, whole.tookMs);
    if (outcome.signal === 'SIGKILL') killed += 1;
    const stored = storedTurns(scene);
    const paid = paidTurns(scene);
    const last = await scene.uwf(['thread', 'run', thread], { env });
    expect({ kill, code: last.code, stderr: last.stderr }).toMatchObject({ code: 0 });
    const after = paidTurns(scene);
    const twice = stored.filter((turn) => after.get(turn) !== paid.get(turn));
    expect({ kill, twice }).toEqual({ kill, twice: [] });
    const { json } = await scene.uwf(['step', 'list', thread, '--json'], { env });
    expect(json.map(({ role }) => role)).toEqual(['planner', 'teams', 'closer']);
    // The merged files have one of each turn below, and of the caller's own.
    const tree =
      scene
        .git('rev-parse', `${String(json[2]?.['head'])}^@`)
        .split('\n')
        .at(-1) ?? '';
    expect(
      scene
        .git('ls-tree', '--name-only', tree)
        .split('\n')
        .filter((name) => name.startsWith('01')),
    ).toHaveLength(19);
    expect(await scene.uwf(['thread', 'verify', thread], { env })).toMatchObject({ code: 0 });
    // The caller, its six branches, and six below them.
    expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
    expect(scene.git('for-each-ref', 'refs/history').split('\n')).toHaveLength(13 * (kill + 2));
  }
  // Otherwise the kills came too early or too late to show anything.
  expect(killed).toBeGreaterThan(KILLS / 2);
  expect(await scene.uwf(['gc'], { env })).toMatchObject({ code: 0 });
  expect(scene.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(scene.git('branch', '--list', 'uwf/*')).toBe('');
  expect(scene.git('status', '--porcelain', '-uno')).toBe('');
  expectCleanFsck(scene.dir);
}, 1_800_000);
