import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, type Scene, type UwfOutcome } from './scene.ts';

/** How many runs are killed; a campaign by hand takes 200. */
const KILLS = Number(process.env['SUITE_BLOCK_KILLS'] ?? 6);

/** Writes down each turn that it takes, and leaves a file. */
const agent = `#!/bin/sh
cat >/dev/null
echo "$UWF_THREAD $UWF_ROLE" >> "$PAID"
echo done > "$UWF_THREAD-$UWF_ROLE"
printf -- '---\\n$status: done\\n---\\n%s is done.\\n' "$UWF_ROLE"
`;

/** Six branches, of which two have three branches of their own. */
const outer = `name: outer
isolation: worktree
roles:
  planner: { schema: {} }
  closer: { schema: {} }
blocks:
  teams:
    isolation: worktree
    merge: { order: key }
    branches:
      a: { workflow: leaf }
      b: { workflow: inner }
      c: { role: closer }
      d: { workflow: inner }
      e: { workflow: leaf }
      f: { workflow: leaf }
    join: all
moderator:
  - { from: __start__, to: planner, when: null }
  - { from: planner, to: teams, when: null }
  - { from: teams, to: closer, when: null }
  - { from: closer, to: __end__, when: null }
`;

const inner = `name: inner
isolation: worktree
roles:
  planner: { schema: {} }
blocks:
  parts:
    isolation: worktree
    merge: { order: end }
    branches: { x: { workflow: leaf }, y: { role: planner }, z: { workflow: leaf } }
    join: all
moderator:
  - { from: __start__, to: parts, when: null }
  - { from: parts, to: __end__, when: null }
`;

function createBlockScene(): Scene {
  const agents = { robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: 300 } } };
  const scene = createScene({
    '.uwf/workflows/outer.yaml': outer,
    '.uwf/workflows/inner.yaml': inner,
    '.uwf/workflows/leaf.yaml': chain('leaf', ['first', 'second']),
    '.uwf/config.yaml': config([], { agents }),
    agent,
  });
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'code');
  return scene;
}

/** The places of the scene's work trees, and of the list of turns. */
function environmentOf(scene: Scene): Record<string, string> {
  return { XDG_STATE_HOME: `${scene.dir}-state`, PAID: paidFile(scene) };
}

function paidFile(scene: Scene): string {
  return join(scene.dir, '.git', 'paid');
}

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

/** The turns that are stored, as the agent writes them down: `<thread> <role>`. */
function storedTurns(scene: Scene): string[] {
  const refs = scene.git('for-each-ref', '--format=%(refname)', 'refs/threads', 'refs/history');
  return refs.split('\n').flatMap((ref) => {
    const thread = ref.split('/').at(-1) ?? '';
    const trailer = (key: string): string => `%(trailers:key=Uwf-${key},valueonly,separator=)`;
    const commits = scene
      .git('log', '--first-parent', `--format=${trailer('Type')} ${trailer('Role')}`, ref)
      .split('\n');
    // The commits before a child's start are its caller's.
    const own = commits.slice(0, commits.indexOf('thread-start '));
    return own.flatMap((line) => (line.startsWith('thread-step ') ? `${thread} ${line.slice(12)}` : []));
  });
}

function paidTurns(scene: Scene): Map<string, number> {
  const paid = new Map<string, number>();
  for (const line of readFileSync(paidFile(scene), 'utf8').trim().split('\n')) {
    paid.set(line, (paid.get(line) ?? 0) + 1);
  }
  return paid;
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
