import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import { createScene, until, type RunningUwf, type Scene } from '../../faults/scene.ts';
import { rulesOf } from '../../helpers/plot.ts';

/** Writes down its thread and process, and hangs until there is a file of its prompt's name, or `go`. */
const agent = `#!/bin/sh
name=$(grep -x '[abc]')
echo "$UWF_THREAD $$ $name" >> turns
while [ ! -e go ] && [ ! -e "go-$name" ]; do sleep 0.05; done
printf -- '---\\n$status: done\\n---\\n%s has waited.\\n' "$UWF_ROLE"
`;

const whole = {
  name: 'whole',
  roles: { closer: { schema: { type: 'object' } } },
  blocks: {
    work: {
      isolation: 'shared',
      join: 'all',
      branches: Object.fromEntries(['a', 'b', 'c'].map((key) => [key, { workflow: 'one', prompt: key }])),
    },
  },
  moderator: rulesOf('work > closer > end'),
};

const oneRole = (name: string, role: string): object => ({
  name,
  roles: { [role]: { schema: { type: 'object' } } },
  moderator: [
    { from: '__start__', to: role },
    { from: role, to: '__end__' },
  ],
});

type Turn = { thread: string; pid: number; name: string };

function turnsOf(scene: Scene): Turn[] {
  return scene.lines('turns').map((line) => {
    const [thread = '', pid, name = ''] = line.split(' ');
    return { thread, pid: Number(pid), name };
  });
}

function namesOf(scene: Scene): string[] {
  return turnsOf(scene)
    .map(({ name }) => name)
    .toSorted();
}

function requestsOf({ gitDir }: Scene): string[] {
  return readdirSync(join(gitDir, 'uwf', 'leases')).filter((name) => name.endsWith('.stop'));
}

type Hanging = { scene: Scene; caller: string; running: RunningUwf; turnOf: (name: string) => Turn };

/** Runs a workflow until the agents of its children hang. */
async function startHanging(workflow = 'whole', names = ['a', 'b', 'c'], script = agent): Promise<Hanging> {
  const config = {
    agents: {
      slow: { package: 'builtin:command', config: { argv: ['./agent'], graceMs: script === agent ? 1000 : 100_000 } },
      fast: {
        package: 'builtin:scripted',
        config: { replies: { closer: ['---\n{}\n---\nAll done.\n'] }, repeat: true },
      },
      below: { package: 'builtin:workflow', config: { workflow: 'one' } },
    },
    roles: { worker: 'slow', closer: 'fast', delegate: 'below' },
  };
  // JSON is YAML.
  const scene = createScene({
    '.uwf/workflows/one.yaml': JSON.stringify(oneRole('one', 'worker')),
    '.uwf/workflows/outer.yaml': JSON.stringify(oneRole('outer', 'delegate')),
    '.uwf/workflows/whole.yaml': JSON.stringify(whole),
    '.uwf/config.yaml': JSON.stringify(config),
    agent: script,
  });
  const { json } = await scene.uwf(['thread', 'start', workflow, '-p', 'b', '--json']);
  const caller = String(json[0]?.['thread']);
  const running = scene.start(['thread', 'run', caller, '--json']);
  await until('the agents hang', () => scene.lines('turns').length === names.length);
  expect(namesOf(scene)).toEqual(names);
  const turnOf = (name: string): Turn => turnsOf(scene).find((turn) => turn.name === name) ?? expect.unreachable();
  return { scene, caller, running, turnOf };
}

async function branchesOf(scene: Scene, caller: string): Promise<unknown> {
  const { json } = await scene.uwf(['thread', 'read', caller, '--json']);
  const meta = json.find(({ role, step }) => role === 'work' && step !== null)?.['meta'] as {
    branches: Record<string, object>;
  };
  return Object.fromEntries(
    Object.entries(meta.branches).map(([key, branch]) => [key, (branch as { end: { outcome: string } }).end.outcome]),
  );
}

describe('a branch that another process cancels', () => {
  test.each(['while others work', 'as the last'])('ends alone, %s', async (when) => {
    const { scene, caller, running, turnOf } = await startHanging();
    if (when === 'as the last') {
      for (const name of ['a', 'c']) {
        scene.write(`go-${name}`, '');
        const { thread } = turnOf(name);
        expect((await scene.uwf(['thread', 'join', thread, '--json'])).json[0]).toMatchObject({ status: 'ended' });
      }
    }
    const { thread, pid } = turnOf('b');
    expect(await scene.uwf(['thread', 'cancel', thread])).toMatchObject({ code: 0 });
    expect(isGroupAlive(pid)).toBe(false);
    if (when !== 'as the last') expect(['a', 'c'].map((name) => isGroupAlive(turnOf(name).pid))).toEqual([true, true]);
    scene.write('go', '');
    expect(await running.outcome).toMatchObject({ code: 0 });
    expect(await branchesOf(scene, caller)).toEqual({ a: 'completed', b: 'cancelled', c: 'completed' });
    expect(namesOf(scene)).toEqual(['a', 'b', 'c']);
    expect(requestsOf(scene)).toEqual([]);
  });

  test('has its agent killed after the grace time, not the process that runs the others', async () => {
    const stubborn = agent.replace('\n', "\ntrap '' TERM INT HUP\n");
    const { scene, caller, running, turnOf } = await startHanging('whole', ['a', 'b', 'c'], stubborn);
    const { thread, pid } = turnOf('b');
    expect(await scene.uwf(['thread', 'cancel', thread, '--grace', '0s'])).toMatchObject({ code: 0 });
    expect(isGroupAlive(pid)).toBe(false);
    scene.write('go', '');
    expect(await running.outcome).toMatchObject({ code: 0 });
    expect(await branchesOf(scene, caller)).toEqual({ a: 'completed', b: 'cancelled', c: 'completed' });
    // It was not started again.
    expect(namesOf(scene)).toEqual(['a', 'b', 'c']);
  });

  test('ends with its caller, when that is cancelled', async () => {
    const { scene, caller, running } = await startHanging();
    expect(await scene.uwf(['thread', 'cancel', caller])).toMatchObject({ code: 0 });
    expect((await running.outcome).code).toBe(130);
    expect(turnsOf(scene).filter(({ pid }) => isGroupAlive(pid))).toEqual([]);
    const { json } = await scene.uwf(['thread', 'list', '--all', '--json']);
    expect(json.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled', 'cancelled']);
  });
});

describe('a branch that another process stops', () => {
  test('waits until it is resumed, and its caller with it', async () => {
    const { scene, caller, running, turnOf } = await startHanging();
    const { thread, pid } = turnOf('b');
    const { json } = await scene.uwf(['thread', 'stop', thread, '--json']);
    expect(json[0]).toMatchObject({ wasRunning: true, isKilled: false, status: 'idle' });
    expect(isGroupAlive(pid)).toBe(false);
    scene.write('go', '');
    const { code, json: events } = await running.outcome;
    expect(code).toBe(4);
    expect(events.at(-1)).toMatchObject({ event: 'thread.suspended', thread: caller });
    expect(String(events.at(-1)?.['text'])).toContain(
      `b: it was stopped; 'uwf thread resume ${thread}' goes on with it`,
    );
    expect(await scene.uwf(['thread', 'resume', thread])).toMatchObject({ code: 0 });
    expect(await branchesOf(scene, caller)).toEqual({ a: 'completed', b: 'completed', c: 'completed' });
    expect(namesOf(scene)).toEqual(['a', 'b', 'b', 'c']);
  });

  test('hinders no later run, when both processes are killed meanwhile', async () => {
    const { scene, caller, running, turnOf } = await startHanging();
    // It hears nothing any more.
    running.process.kill('SIGSTOP');
    const stopping = scene.start(['thread', 'stop', turnOf('b').thread]);
    await until('it is asked', () => requestsOf(scene).length === 1);
    for (const { process, outcome } of [stopping, running]) {
      process.kill('SIGKILL');
      await outcome;
    }
    scene.write('go', '');
    expect(await scene.uwf(['thread', 'run', caller])).toMatchObject({ code: 0 });
    expect(await branchesOf(scene, caller)).toEqual({ a: 'completed', b: 'completed', c: 'completed' });
    expect(requestsOf(scene)).toEqual([]);
  });
});

describe('a child of an agent', () => {
  test('that another process stops lets its caller wait', async () => {
    const { scene, caller, running, turnOf } = await startHanging('outer', ['b']);
    const { thread } = turnOf('b');
    expect(await scene.uwf(['thread', 'stop', thread])).toMatchObject({ code: 0 });
    expect(await running.outcome).toMatchObject({ code: 4 });
    scene.write('go', '');
    expect(await scene.uwf(['thread', 'resume', caller])).toMatchObject({ code: 0 });
    expect(namesOf(scene)).toEqual(['b', 'b']);
  });

  test('that another process cancels does not end the process of its caller', async () => {
    const { scene, caller, running, turnOf } = await startHanging('outer', ['b']);
    expect(await scene.uwf(['thread', 'cancel', turnOf('b').thread])).toMatchObject({ code: 0 });
    expect(await running.outcome).toMatchObject({ code: 0 });
    const { json } = await scene.uwf(['thread', 'show', caller, '--json']);
    expect(json[0]).toMatchObject({ status: 'ended' });
    expect(namesOf(scene)).toEqual(['b']);
  });
});
