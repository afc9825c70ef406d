import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, diligent, type Scene, type UwfOutcome } from './scene.ts';

const KILLS = 20;

/** Runs three child threads in a row and three at once, in another order at each try; two have one task, two a key. */
const shuffling = `
const { appendFileSync, readFileSync } = require('node:fs');
exports.packageDescriptor = { name: 'shuffling', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
exports.createAgent = () => ({
  async run(request) {
    appendFileSync('tries', 'x');
    let seed = readFileSync('tries').length;
    const dice = (below) => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0, Math.floor((seed / 2 ** 32) * below));
    const calls = ['a', 'b', 'b', 'c', 'd', 'e'].map((prompt) => ({ workflow: 'worker', prompt }));
    calls[4].key = 'own';
    calls[5].key = 'other';
    for (let at = 5; at > 0; at -= 1) {
      const other = dice(at + 1);
      [calls[at], calls[other]] = [calls[other], calls[at]];
    }
    const call = (one) => request.runChild({ ...one, signal: request.signal });
    const outcomes = [];
    for (const one of calls.slice(0, 3)) outcomes.push(await call(one));
    outcomes.push(...(await Promise.all(calls.slice(3).map(call))));
    if (outcomes.some(({ kind }) => kind !== 'ended')) return { kind: 'failed-attempt', reason: 'it waits', text: '' };
    return { kind: 'reply', text: 'All are done.', meta: { $status: 'done' } };
  },
});
`;

function createShufflingScene(): Scene {
  const agents = {
    robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: 300 } },
    shuffling: { package: 'shuffling', config: {} },
  };
  return createScene({
    '.uwf/workflows/caller.yaml': chain('caller', ['call']),
    '.uwf/workflows/worker.yaml': chain('worker', ['work']),
    '.uwf/config.yaml': config([], { agents, roles: { call: 'shuffling' } }),
    'node_modules/shuffling/package.json': '{"name": "shuffling", "version": "1.0.0"}',
    'node_modules/shuffling/index.js': shuffling,
    agent: diligent.replace('$UWF_ROLE" >>', '$UWF_THREAD" >>'),
  });
}

function run(scene: Scene, thread: string, env: Record<string, string> = {}): Promise<UwfOutcome> {
  const preload = { NODE_OPTIONS: `--require ${join(import.meta.dirname, 'faulty-fs-preload.cjs')}` };
  return scene.uwf(['thread', 'run', thread, '--json'], {
    env: Object.keys(env).length > 0 ? { ...preload, UWF_FAULT: 'kill', ...env } : {},
  });
}

type Call = { thread: string; step: string | null; isLeft: boolean };

test(`a turn of six children that is killed at ${KILLS} moments runs each of them once`, async () => {
  const scene = createShufflingScene();
  const whole = await run(scene, await scene.startThread('caller'), { UWF_FAULT_COUNT: 'calls' });
  expect(whole).toMatchObject({ code: 0 });
  const calls = Number(readFileSync(join(scene.dir, 'calls'), 'utf8'));
  let killed = 0;
  let acknowledged = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const thread = await scene.startThread('caller');
    scene.write('turns', '');
    const stored = new Set<unknown>();
    // The second kill comes at another moment of what the first one left to do.
    for (const share of [(kill + 0.5) / KILLS, ((kill * 7) % KILLS) / KILLS / 2]) {
      const before = scene.lines('turns').length;
      const outcome = await run(scene, thread, { UWF_FAULT_AT: String(1 + Math.floor(calls * share)) });
      if (outcome.signal === 'SIGKILL') killed += 1;
      for (const taken of scene.lines('turns').slice(before)) expect(stored).not.toContain(taken);
      for (const event of outcome.json) {
        if (event['event'] === 'step.finished' && event['role'] === 'work') stored.add(event['thread']);
      }
    }
    acknowledged += stored.size;
    const before = scene.lines('turns').length;
    const last = await run(scene, thread);
    expect({ kill, code: last.code, stderr: last.stderr }).toMatchObject({ code: 0 });
    for (const taken of scene.lines('turns').slice(before)) expect(stored).not.toContain(taken);

    const [shown] = (await scene.uwf(['thread', 'show', thread, '--json'])).json;
    const children = (shown?.['calls'] ?? []) as Call[];
    expect(new Set(children.map((child) => child.thread)).size).toBe(6);
    expect(children.map(({ step, isLeft }) => step !== null && !isLeft)).toEqual(Array.from({ length: 6 }, () => true));
    expect(await scene.uwf(['thread', 'verify', thread])).toMatchObject({ code: 0 });
  }
  // Otherwise the kills came too early or too late to show anything.
  expect(killed).toBeGreaterThan(KILLS);
  expect(acknowledged).toBeGreaterThan(KILLS);
  expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
  expect(scene.git('for-each-ref', 'refs/history').split('\n')).toHaveLength((KILLS + 1) * 7);
  expectCleanFsck(scene.dir);
}, 900_000);
