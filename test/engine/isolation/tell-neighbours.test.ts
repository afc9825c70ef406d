import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { chain, config, createScene, until, type RunningUwf, type Scene } from '../../faults/scene.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

const uwf = join(packageRoot(), 'bin', 'uwf.js');

/** Writes down that it has begun, and hangs until there is a file `go`. */
const agent = `#!/bin/sh
echo "begin $UWF_THREAD" >> "$(dirname "$UWF_REPOSITORY")/turns"
while [ ! -e "$(dirname "$UWF_REPOSITORY")/go" ]; do sleep 0.02; done
printf -- '---\\n$status: done\\n---\\nDone.\\n'
`;

/** Runs two threads of its own with uwf at once, from within a turn. */
const caller = `#!/bin/sh
"${process.execPath}" "${uwf}" run one -p inner >&2 &
"${process.execPath}" "${uwf}" run one -p inner >&2 || exit 1
wait
printf -- '---\\n$status: done\\n---\\nThey ran.\\n'
`;

function createNeighbours(): Scene {
  const scene = createScene({
    '.uwf/workflows/one.yaml': chain('one', ['worker', 'again']),
    '.uwf/workflows/shared.yaml': `${chain('shared', ['worker'])}\nisolation: shared\n`,
    '.uwf/workflows/above.yaml': chain('above', ['delegate', 'delegate-too']),
    '.uwf/workflows/calls.yaml': chain('calls', ['caller']),
    '.uwf/config.yaml': config(['./agent'], {
      agents: {
        robot: { package: 'builtin:command', config: { argv: ['./agent'] } },
        below: { package: 'builtin:workflow', config: { workflow: 'one' } },
        caller: { package: 'builtin:command', config: { argv: ['./caller'] } },
      },
      defaultAgent: 'robot',
      roles: { delegate: 'below', 'delegate-too': 'below', caller: 'caller' },
    }),
    agent,
    caller,
  });
  scene.git('add', '-A');
  scene.git('commit', '-qm', 'code');
  return scene;
}

/** Starts a run and waits until so many agents are at work in all. */
async function startUntil(scene: Scene, count: number, args: readonly string[]): Promise<RunningUwf> {
  const run = scene.start(args);
  await until(`${count} agents work`, () => scene.lines('turns').length === count);
  return run;
}

describe('a run that begins in the work tree of another one', () => {
  test('names it once, with the remedy', async () => {
    const scene = createNeighbours();
    const first = await startUntil(scene, 1, ['run', 'one', '-p', 'x']);
    const json = await startUntil(scene, 2, ['run', 'one', '-p', 'x', '--json']);
    const text = await startUntil(scene, 3, ['run', 'above', '-p', 'x']);
    scene.write('go', '');
    const [alone, second, third] = [await first.outcome, await json.outcome, await text.outcome];
    expect([alone.code, second.code, third.code]).toEqual([0, 0, 0]);
    expect(alone.stdout + alone.stderr).not.toContain('shared work tree');
    const [neighbour] = scene.lines('turns').map((line) => line.split(' ')[1]);
    expect(second.json.filter(({ event }) => event === 'work-tree.shared')).toEqual([
      expect.objectContaining({ workTree: scene.dir, others: [expect.objectContaining({ thread: neighbour })] }),
    ]);
    const told = `${third.stdout}${third.stderr}`.split('\n').filter((line) => line.includes('shared work tree'));
    expect(told).toEqual([expect.stringMatching(new RegExp(`${neighbour}.*'uwf run --isolate'`))]);
  });

  test('says nothing where that is intended, or where one of them has a work tree of its own', async () => {
    const scene = createNeighbours();
    const home = { XDG_STATE_HOME: createTemporaryFolder() };
    await startUntil(scene, 1, ['run', 'one', '-p', 'x']);
    const shared = await startUntil(scene, 2, ['run', 'shared', '-p', 'x', '--json']);
    const isolated = scene.start(['run', 'one', '-p', 'x', '--isolate', '--json'], { env: home });
    await until('three agents work', () => scene.lines('turns').length === 3);
    scene.write('go', '');
    for (const { json } of [await shared.outcome, await isolated.outcome])
      expect(json.map(({ event }) => event)).not.toContain('work-tree.shared');
  });

  test('says nothing of threads below one agent', async () => {
    const scene = createNeighbours();
    const run = await startUntil(scene, 2, ['run', 'calls', '-p', 'x']);
    scene.write('go', '');
    expect((await run.outcome).code).toBe(0);
    const journals = join(scene.gitDir, 'uwf', 'journal');
    const told = readdirSync(journals).map((name) => readFileSync(join(journals, name), 'utf8'));
    expect(told).toHaveLength(3);
    expect(told.join('')).not.toContain('work-tree.shared');
  });
});
