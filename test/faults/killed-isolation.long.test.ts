import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, type Scene, type UwfOutcome } from './scene.ts';

/** How many runs are killed; a campaign by hand takes 200. */
const KILLS = Number(process.env['SUITE_ISOLATION_KILLS'] ?? 14);

/** Adds a line to a file of its work tree, commits it, and leaves a second one that is not committed. */
const agent = `#!/bin/sh
cat >/dev/null
echo "$UWF_ROLE" >> committed
git add committed && git -c user.name=a -c user.email=a@b commit -qm "$UWF_ROLE"
echo "$UWF_ROLE" >> left
printf -- '---\\n$status: done\\n---\\n%s is done.\\n' "$UWF_ROLE"
`;

function createIsolatedScene(): Scene {
  const agents = { robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: 300 } } };
  const scene = createScene({
    '.uwf/workflows/work.yaml': `${chain('work', ['first', 'second'])}isolation: worktree\n`,
    '.uwf/config.yaml': config([], { agents }),
    agent,
  });
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'code');
  return scene;
}

type Kill = (scene: Scene, thread: string, env: Record<string, string>) => Promise<UwfOutcome>;

const preload = { NODE_OPTIONS: `--require ${join(import.meta.dirname, 'faulty-fs-preload.cjs')}` };

/** Runs a thread and kills the process at a share of its disk calls, or of its time. */
function killAt(share: number, calls: number, tookMs: number): Kill {
  if (share * 2 < 1) {
    const at = String(1 + Math.floor(calls * share * 2));
    return (scene, thread, env) =>
      scene.uwf(['thread', 'run', thread], { env: { ...env, ...preload, UWF_FAULT: 'kill', UWF_FAULT_AT: at } });
  }
  return async (scene, thread, env) => {
    const running = scene.start(['thread', 'run', thread], { env });
    await sleep(tookMs * (share * 2 - 1));
    running.process.kill('SIGKILL');
    return running.outcome;
  };
}

test(`isolated runs that are killed at ${KILLS} moments lose nothing and leave nothing over`, async () => {
  const scene = createIsolatedScene();
  const env = { XDG_STATE_HOME: scene.state };
  const start = async (): Promise<string> => {
    const { json } = await scene.uwf(['thread', 'start', 'work', '-p', 'Go.', '--json'], { env });
    return String(json[0]?.['thread']);
  };
  const counted = { ...env, ...preload, UWF_FAULT: 'kill', UWF_FAULT_COUNT: 'calls' };
  const whole = await scene.uwf(['thread', 'run', await start()], { env: counted });
  expect(whole).toMatchObject({ code: 0 });
  const calls = Number(readFileSync(join(scene.dir, 'calls'), 'utf8'));
  scene.git('clean', '-fdq');
  let killed = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const thread = await start();
    const outcome = await killAt((kill + 0.5) / KILLS, calls, whole.tookMs)(scene, thread, env);
    if (outcome.signal === 'SIGKILL') killed += 1;
    const last = await scene.uwf(['thread', 'run', thread], { env });
    expect({ kill, code: last.code, stderr: last.stderr }).toMatchObject({ code: 0 });
    const { json } = await scene.uwf(['step', 'list', thread, '--json'], { env });
    expect(json.map(({ role }) => role)).toEqual(['first', 'second']);
    const tree =
      scene
        .git('rev-parse', `${String(json[1]?.['head'])}^@`)
        .split('\n')
        .at(-1) ?? '';
    // A turn that was cut off is taken again in the files that it had left.
    const linesOf = (name: string): string[] => [
      ...new Set(scene.git('cat-file', 'blob', `${tree}:${name}`).split('\n')),
    ];
    expect(linesOf('committed')).toEqual(['first', 'second']);
    expect(linesOf('left')).toEqual(['first', 'second']);
    expect(await scene.uwf(['thread', 'verify', thread], { env })).toMatchObject({ code: 0 });
  }
  // Otherwise the kills came too early or too late to show anything.
  expect(killed).toBeGreaterThan(KILLS / 2);
  expect(scene.git('status', '--porcelain')).toBe('');
  expect(await scene.uwf(['gc'], { env })).toMatchObject({ code: 0 });
  expect(scene.git('worktree', 'list').split('\n')).toHaveLength(1);
  expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
  // A branch that an agent has committed to after its last recorded turn would stay.
  expect(scene.git('branch', '--list', 'uwf/*')).toBe('');
  expectCleanFsck(scene.dir);
}, 1_800_000);
