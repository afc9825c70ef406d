import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, diligent, unfinishedBelow } from './scene.ts';
import type { Scene, UwfOutcome } from './scene.ts';

/** Kills at a call that changes the disk, spread evenly from the first to the last, and kills at any time. */
const KILLS_AT_CALLS = 140;
const KILLS_AT_TIMES = 60;
/** As many runs at once as the machine has to itself. */
const LANES = 2;

const roles = ['one', 'two'];
const preload = join(import.meta.dirname, 'faulty-fs-preload.cjs');
const faulty = { NODE_OPTIONS: `--require ${preload}`, UWF_FAULT: 'kill' };

/** `share` is how much of the time that a run takes has passed. */
type Kill = { kind: 'call'; at: number } | { kind: 'time'; share: number };
/** How long a run takes, as far as is known: the last one that came to its end before it was killed says. */
type Pace = { tookMs: number };
/** What a killed run had done: the steps that it had said were stored; null where its thread was not even there. */
type Killed = { kill: Kill; acknowledged: number | null };

test(`${KILLS_AT_CALLS + KILLS_AT_TIMES} runs killed at any moment: nothing acknowledged is lost or paid twice, and nothing blocks`, async () => {
  const { kills, pace } = await planKills();
  const lanes = Array.from({ length: LANES }, (_, lane) => kills.filter((_kill, index) => index % LANES === lane));
  const killed = (await Promise.all(lanes.map((lane) => runLane(lane, pace)))).flat();
  // Otherwise the kills came too early or too late to show anything. How long a run takes changes while others work here.
  const atCalls = killed.filter(({ kill }) => kill.kind === 'call').length;
  // Some calls come only once in a repository, which is that of many runs.
  expect(atCalls).toBeGreaterThan(KILLS_AT_CALLS * 0.75);
  expect(killed.length - atCalls).toBeGreaterThan(KILLS_AT_TIMES * 0.3);
  for (const acknowledged of [null, 0, 1, 2]) {
    const number = killed.filter((one) => one.acknowledged === acknowledged).length;
    expect(number, `kills with ${acknowledged} steps acknowledged`).toBeGreaterThan(5);
  }
}, 600_000);

/** An uninterrupted run tells how many calls there are, and how long a run takes here and now. */
async function planKills(): Promise<{ kills: Kill[]; pace: Pace }> {
  const scene = createKillScene();
  const env = { ...faulty, UWF_FAULT_COUNT: 'calls' };
  await run(scene, env);
  // Counting slows a run down: kills by its time would come after most others have ended.
  const { tookMs } = await run(createKillScene());
  const calls = Number(readFileSync(join(scene.dir, 'calls'), 'utf8'));
  const atCalls = Array.from({ length: KILLS_AT_CALLS }, (_, index): Kill => {
    const at = 1 + Math.floor(((index + Math.random()) * calls) / KILLS_AT_CALLS);
    return { kind: 'call', at };
  });
  // Before the first write nothing can go wrong: node and uwf are still being loaded.
  const atTimes = Array.from({ length: KILLS_AT_TIMES }, (): Kill => {
    return { kind: 'time', share: 0.4 + 0.6 * Math.random() };
  });
  return { kills: [...atCalls, ...atTimes], pace: { tookMs } };
}

function createKillScene(): Scene {
  return createScene({
    '.uwf/workflows/chain.yaml': chain('chain', roles),
    '.uwf/config.yaml': config(['./agent']),
    agent: diligent,
  });
}

async function runLane(kills: readonly Kill[], pace: Pace): Promise<Killed[]> {
  const scene = createKillScene();
  const killed: Killed[] = [];
  for (const kill of kills) {
    scene.write('turns', '');
    const first = await runAndKill(scene, kill, pace);
    if (first.signal !== 'SIGKILL') expect(first).toMatchObject({ code: 0 });
    const steps = first.json.filter(({ event }) => event === 'step.finished');
    const thread = threadOf(scene, first);
    if (first.signal === 'SIGKILL') killed.push({ kill, acknowledged: thread === undefined ? null : steps.length });
    expectCleanFsck(scene.dir);
    if (thread === undefined) continue;

    const refs = scene.git('for-each-ref', '--format=%(refname)', 'refs/threads', 'refs/history');
    for (const { head } of steps) {
      const holding = scene.git('for-each-ref', '--format=%(refname)', '--contains', String(head));
      expect(holding).toContain(thread);
    }
    if (refs.split('\n').filter((ref) => ref.endsWith(thread)).length === 2) {
      // An ending cut in two has ended: nobody is told that the thread waits.
      expect((await scene.uwf(['thread', 'list', '--json'])).json).toEqual([]);
    }
    const second = await scene.uwf(['thread', 'run', thread, '--json']);
    expect(second, JSON.stringify({ kill, refs })).toMatchObject({ code: 0 });
    expect(second.json.at(-1)).toMatchObject({ event: 'thread.ended', thread });
    // What blocks nobody goes later: packs that were torn off and keeps with the next one that writes objects and with
    // gc.
    const left = unfinishedBelow(scene.gitDir).filter((name) => !name.startsWith('objects/pack/'));
    expect(left, JSON.stringify(kill)).toEqual([]);

    const head = String(second.json.at(-1)?.['head']);
    const log = scene.git('log', '--first-parent', '--format=%H', head).split('\n');
    expect(log).toHaveLength(roles.length + 2);
    expect(log).toEqual(expect.arrayContaining(steps.map((step) => step['head'])));
    for (const step of steps) expect(scene.lines('turns').filter((turn) => turn === step['role'])).toHaveLength(1);
    expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
    // No lock is left that blocks git.
    scene.git('update-ref', `refs/threads/${thread}`, head);
    scene.git('update-ref', '-d', `refs/threads/${thread}`);
  }
  await expectNothingLost(scene);
  return killed;
}

/** What killed writers left goes with git's own collection, and nothing else does. */
async function expectNothingLost(scene: Scene): Promise<void> {
  expect(await run(scene)).toMatchObject({ code: 0 });
  const { json } = await scene.uwf(['thread', 'list', '--all', '--json']);
  expect(new Set(json.map(({ status }) => status))).toEqual(new Set(['ended']));
  expect(json).toHaveLength(scene.git('for-each-ref', 'refs/history').split('\n').length);
  expect(unfinishedBelow(scene.gitDir).filter((name) => !name.includes('/tmp_'))).toEqual([]);
  scene.git('gc', '--quiet', '--prune=now');
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expect(scene.git('count-objects', '-v')).toMatch(/^garbage: 0$/m);
  expectCleanFsck(scene.dir);
}

/** The thread that a run has started, whether it came to saying so or not. */
function threadOf(scene: Scene, { json }: UwfOutcome): string | undefined {
  const told = json[0]?.['thread'];
  if (typeof told === 'string') return told;
  return scene.git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads') || undefined;
}

function run(scene: Scene, env: Record<string, string> = {}): Promise<UwfOutcome> {
  return scene.uwf(['run', 'chain', '-p', 'do it', '--json'], { env });
}

async function runAndKill(scene: Scene, kill: Kill, pace: Pace): Promise<UwfOutcome> {
  if (kill.kind === 'call') return run(scene, { ...faulty, UWF_FAULT_AT: String(kill.at) });
  const running = scene.start(['run', 'chain', '-p', 'do it', '--json']);
  await Promise.race([sleep(pace.tookMs * kill.share), running.outcome]);
  running.process.kill('SIGKILL');
  const outcome = await running.outcome;
  if (outcome.signal !== 'SIGKILL') pace.tookMs = outcome.tookMs;
  return outcome;
}
