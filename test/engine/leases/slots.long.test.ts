import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { chain, config, createScene, until, type Scene } from '../../faults/scene.ts';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { mostAtOnce } from './slot-fixture.ts';

const uwf = join(packageRoot(), 'bin', 'uwf.js');

/** Writes down when it begins and ends, and hangs in between while there is a file of its thread's name. */
const agent = `#!/bin/sh
echo "begin $UWF_THREAD" >> turns
while [ -e "hold-$UWF_THREAD" ]; do sleep 0.02; done
sleep 0.05
echo "end $UWF_THREAD" >> turns
printf -- '---\\n$status: done\\n---\\nDone.\\n'
`;

/** Runs a thread of its own with uwf, from within a turn. */
const caller = `#!/bin/sh
"${process.execPath}" "${uwf}" run one -p inner >&2 || exit 1
printf -- '---\\n$status: done\\n---\\nIt ran.\\n'
`;

function createSlotScene(maxParallelThreads: number): Scene {
  return createScene({
    '.uwf/workflows/one.yaml': chain('one', ['worker']),
    '.uwf/workflows/above.yaml': chain('above', ['delegate']),
    '.uwf/workflows/calls.yaml': chain('calls', ['caller']),
    '.uwf/config.yaml': config(['./agent'], {
      agents: {
        robot: { package: 'builtin:command', config: { argv: ['./agent'] } },
        below: { package: 'builtin:workflow', config: { workflow: 'one' } },
        caller: { package: 'builtin:command', config: { argv: ['./caller'] } },
      },
      defaultAgent: 'robot',
      roles: { delegate: 'below', caller: 'caller' },
      limits: { maxParallelThreads },
    }),
    agent,
    caller,
  });
}

describe('maxParallelThreads', () => {
  test('holds over all processes; those that wait go on when others are done', async () => {
    const scene = createSlotScene(2);
    const runs = Array.from({ length: 6 }, () => scene.uwf(['run', 'one', '-p', 'x', '--json']));
    const outcomes = await Promise.all(runs);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0]);
    const turns = scene.lines('turns');
    expect(turns).toHaveLength(12);
    expect(mostAtOnce(turns)).toBeLessThanOrEqual(2);
    expect(outcomes.some(({ json }) => json.some(({ event }) => event === 'thread.waiting'))).toBe(true);
    expect(readdirSync(join(scene.gitDir, 'uwf', 'slots'))).toEqual([]);
  });

  test('says who is waited for; waiting ends with a signal, and leaves the thread to others', async () => {
    const scene = createSlotScene(1);
    const [first, second] = [await scene.startThread('one'), await scene.startThread('one')];
    scene.write(`hold-${first}`, '');
    const holder = scene.start(['thread', 'run', first]);
    await until('the first works', () => scene.lines('turns').length > 0);
    const waiting = scene.start(['thread', 'run', second, '--json']);
    const journal = (): Promise<string> =>
      scene.uwf(['thread', 'read', second, '--debug']).then(({ stdout }) => stdout);
    await until('the second waits', async () => (await journal()).includes('thread.waiting'));
    waiting.process.kill('SIGTERM');
    const { code, json } = await waiting.outcome;
    expect(code).toBe(130);
    expect(json[0]).toEqual({
      event: 'thread.waiting',
      thread: second,
      limit: 1,
      holders: [{ thread: first, pid: holder.pid, host: expect.any(String) }],
    });
    expect((await scene.uwf(['thread', 'show', second, '--json'])).json[0]).toMatchObject({ status: 'idle', steps: 0 });
    expect(scene.lines('turns')).toEqual([`begin ${first}`]);
  });

  test('does not count those who died', async () => {
    const scene = createSlotScene(1);
    const [first, second] = [await scene.startThread('one'), await scene.startThread('one')];
    scene.write(`hold-${first}`, '');
    const holder = scene.start(['thread', 'run', first]);
    await until('the first works', () => scene.lines('turns').length > 0);
    const waiting = scene.start(['thread', 'run', second]);
    holder.process.kill('SIGKILL');
    expect((await waiting.outcome).code).toBe(0);
    expect(scene.lines('turns')).toEqual([`begin ${first}`, `begin ${second}`, `end ${second}`]);
  });

  test.each([
    ['a child thread', 'above'],
    ['a thread that an agent starts', 'calls'],
  ])('needs no second slot for %s', async (_name, workflow) => {
    const scene = createSlotScene(1);
    const { code, stderr } = await scene.uwf(['run', workflow, '-p', 'x']);
    expect(stderr).not.toContain('waiting');
    expect(code).toBe(0);
    expect(scene.lines('turns')).toHaveLength(2);
  });

  test('is no matter of threads that are over', async () => {
    const scene = createSlotScene(1);
    const [first, second] = [await scene.startThread('one'), await scene.startThread('one')];
    await scene.uwf(['thread', 'run', second]);
    scene.write(`hold-${first}`, '');
    scene.start(['thread', 'run', first]);
    await until('the first works', () => scene.lines('turns').length > 2);
    expect((await scene.uwf(['thread', 'run', second])).code).toBe(0);
  });
});
