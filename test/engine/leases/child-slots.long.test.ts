import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { chain, config, createScene, until, type RunningUwf, type Scene } from '../../faults/scene.ts';
import { installCallingAgent, type Called } from '../../helpers/calling-agent.ts';
import { mostAtOnce } from './slot-fixture.ts';

const uwf = join(packageRoot(), 'bin', 'uwf.js');

/**
 * Writes down when it begins and ends. In between it waits until as many have begun as the file `wanted` says, and until there
 * is no file of its thread's name.
 */
const agent = `#!/bin/sh
echo "begin $UWF_THREAD" >> turns
while [ "$(grep -c begin turns)" -lt "$(cat wanted)" ]; do sleep 0.02; done
while [ -e "hold-$UWF_THREAD" ]; do sleep 0.02; done
echo "end $UWF_THREAD" >> turns
printf -- '---\\n$status: done\\n---\\nDone.\\n'
`;

/** An agent that starts uwf itself. */
const shell = `#!/bin/sh
"${process.execPath}" "${uwf}" run four -p inner >&2 || exit 1
printf -- '---\\n$status: done\\n---\\nIt ran.\\n'
`;

/** Calls a workflow so many times at once. */
function calling(workflow: string, times: number): object {
  const call = (_: unknown, at: number): Called => ({ workflow, prompt: `${workflow} ${at}` });
  return { package: 'calling-agent', config: { tries: [{ calls: [Array.from({ length: times }, call)] }] } };
}

/** Workflows of one role: a worker, callers of it, callers of those, and an agent that starts uwf. */
function createSlotScene(maxParallelThreads: number, wanted = 0): Scene {
  const agents = {
    robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: 300 } },
    four: calling('one', 4),
    twelve: calling('one', 12),
    'two-fours': calling('four', 2),
    'two-pairs': calling('pair', 2),
    pair: calling('one', 2),
    nested: calling('two-pairs', 1),
    below: { package: 'builtin:command', config: { argv: ['./shell'], graceMs: 300 } },
  };
  const names = Object.keys(agents).filter((name) => name !== 'robot');
  const scene = createScene({
    '.uwf/workflows/one.yaml': chain('one', ['worker']),
    ...Object.fromEntries(names.map((name) => [`.uwf/workflows/${name}.yaml`, chain(name, [name])])),
    '.uwf/config.yaml': config([], {
      agents,
      roles: Object.fromEntries(names.map((name) => [name, name])),
      defaultAgent: 'robot',
      limits: { maxParallelThreads },
    }),
    agent,
    shell,
    wanted: String(wanted),
  });
  installCallingAgent(scene.dir);
  return scene;
}

const slotsIn = ({ gitDir }: Scene): string[] => readdirSync(join(gitDir, 'uwf', 'slots'));

async function runAll(scene: Scene, workflows: readonly string[]): Promise<void> {
  const outcomes = await Promise.all(workflows.map((name) => scene.uwf(['run', name, '-p', 'x', '--json'])));
  for (const { code, stderr } of outcomes) expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(slotsIn(scene)).toEqual([]);
}

describe('of a caller and the threads below it', () => {
  test('as many work at once as there are slots, and the caller takes none of them', async () => {
    const scene = createSlotScene(8, 8);
    await runAll(scene, ['twelve']);
    expect(scene.lines('turns')).toHaveLength(24);
    expect(mostAtOnce(scene.lines('turns'))).toBe(8);
  });

  test('no two wait for each other: two callers of callers with two slots', async () => {
    const scene = createSlotScene(2);
    await runAll(scene, ['two-pairs', 'two-pairs']);
    expect(scene.lines('turns')).toHaveLength(16);
    expect(mostAtOnce(scene.lines('turns'))).toBeLessThanOrEqual(2);
  });

  test('those three levels below a caller work in a single slot', async () => {
    const scene = createSlotScene(1);
    await runAll(scene, ['nested']);
    expect(scene.lines('turns')).toHaveLength(8);
    expect(mostAtOnce(scene.lines('turns'))).toBe(1);
  });

  test.each([1, 2])('one works in the slot of an agent that starts uwf, with %i slots', async (slots) => {
    const scene = createSlotScene(slots);
    await runAll(scene, ['below', 'below', 'two-pairs']);
    expect(scene.lines('turns')).toHaveLength(24);
    expect(mostAtOnce(scene.lines('turns'))).toBeLessThanOrEqual(slots);
  });
});

describe('the slots of a process with many threads', () => {
  async function startHeld(scene: Scene, workflow: string, count: number): Promise<RunningUwf> {
    // No turn ends before the file says so.
    scene.write('wanted', '1000');
    const running = scene.start(['run', workflow, '-p', 'x', '--json']);
    await until('its children work', () => scene.lines('turns').length === count);
    return running;
  }

  async function startWaiting(scene: Scene): Promise<{ thread: string; running: RunningUwf }> {
    const thread = await scene.startThread('one');
    const running = scene.start(['thread', 'run', thread, '--json']);
    const journal = async (): Promise<string> => (await scene.uwf(['thread', 'read', thread, '--debug'])).stdout;
    await until('it waits', async () => (await journal()).includes('thread.waiting'));
    return { thread, running };
  }

  test('are free when it is killed', async () => {
    const scene = createSlotScene(2);
    const held = await startHeld(scene, 'two-pairs', 2);
    const { thread, running } = await startWaiting(scene);
    held.process.kill('SIGKILL');
    await until('the other works', () => scene.lines('turns').includes(`begin ${thread}`));
    scene.write('wanted', '0');
    expect((await running.outcome).code).toBe(0);
  });

  test('are shared with other processes, in no order', async () => {
    const scene = createSlotScene(1);
    const held = await startHeld(scene, 'two-fours', 1);
    const { running } = await startWaiting(scene);
    scene.write('wanted', '0');
    const outcomes = await Promise.all([running.outcome, held.outcome]);
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
    const turns = scene.lines('turns');
    expect(turns).toHaveLength(18);
    expect(mostAtOnce(turns)).toBe(1);
  });
});
