import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { runningProcesses } from '../../src/agent/processes/process-group.ts';
import { expectCleanFsck } from '../helpers/temporary-repository.ts';
import { chain, config, createScene, createPatientScene, unfinishedBelow, until } from './scene.ts';
import type { RunningUwf, Scene } from './scene.ts';

/**
 * A program that takes no hint and has a grandchild that takes none either; until the file `go` is there it hangs.
 *
 * Writes `<pid> alone` into `groups` at its start, or `<pid> beside <pid>` if one that came before still runs.
 */
const stubborn = `#!/bin/sh
trap '' TERM INT HUP
for other in $(cut -d' ' -f1 groups 2>/dev/null); do
  case "$(sed 's/.*) \\(.\\).*/\\1/' "/proc/$other/stat" 2>/dev/null)" in
    '' | Z | X) ;;
    *) beside="$beside beside $other" ;;
  esac
done
while :; do sleep 1; done &
echo "$$\${beside:- alone}" >> groups
while [ ! -e go ]; do sleep 0.05; done
printf -- '---\\n$status: done\\n---\\n%s has waited.\\n' "$UWF_ROLE"
`;

function configWith(graceMs: number): string {
  const agents = {
    robot: { package: 'builtin:command', config: { argv: ['./agent'], graceMs } },
    below: { package: 'builtin:workflow', config: { workflow: 'pair' } },
  };
  return config([], { agents, roles: { delegate: 'below' } });
}

function createStubbornScene(graceMs = 200): Scene {
  const scene = createScene({
    '.uwf/workflows/pair.yaml': chain('pair', ['one', 'two']),
    '.uwf/workflows/outer.yaml': chain('outer', ['delegate']),
    '.uwf/config.yaml': configWith(graceMs),
    agent: stubborn,
  });
  // Of a test that fails nobody is left either.
  onTestFinished(() => processesOf(scene).forEach((pid) => process.kill(pid, 'SIGKILL')));
  return scene;
}

function groups(scene: Scene): number[] {
  return scene.lines('groups').map((line) => Number(line.split(' ')[0]));
}

function processesOf(scene: Scene): number[] {
  const all = new Set(groups(scene));
  return (runningProcesses() ?? []).filter(({ group }) => all.has(group)).map(({ pid }) => pid);
}

/** What the leases say; one that is just being written says nothing. */
function leasesOf({ gitDir }: Scene): { processGroups: unknown[] }[] {
  const folder = join(gitDir, 'uwf', 'leases');
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  // They are uwf's own: `src/engine/leases/find-lease.ts`.
  return names.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as { processGroups: unknown[] });
}

/** Runs a workflow until its agent hangs. */
async function startHanging(scene: Scene, name = 'pair'): Promise<{ running: RunningUwf; thread: string }> {
  const thread = await scene.startThread(name);
  const running = scene.start(['thread', 'run', thread, '--json']);
  await until('the agent hangs', () => groups(scene).length === 1 && processesOf(scene).length > 2);
  // On a busy machine the agent may be faster than the one who started it and writes down that it has.
  await until('the agent is written down', () => leasesOf(scene).some(({ processGroups }) => processGroups.length > 0));
  return { running, thread };
}

async function statusOf(scene: Scene, thread: string): Promise<unknown> {
  return (await scene.uwf(['thread', 'show', thread, '--json'])).json[0]?.['status'];
}

async function expectRunsOn(scene: Scene, thread: string): Promise<void> {
  scene.write('go', '');
  scene.write('.uwf/config.yaml', configWith(200));
  const { code, json } = await scene.uwf(['thread', 'run', thread, '--json']);
  expect({ code, last: json.at(-1) }).toMatchObject({ code: 0, last: { event: 'thread.ended', status: 'ended' } });
  expect(scene.lines('groups').filter((line) => !line.endsWith(' alone'))).toEqual([]);
  expect(processesOf(scene)).toEqual([]);
  expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  expectCleanFsck(scene.dir);
}

describe('an agent that ignores every signal and has children', () => {
  test('is ended by `thread stop` with all of them; the thread is idle and runs on', async () => {
    const scene = createStubbornScene();
    const { running, thread } = await startHanging(scene);
    expect(await statusOf(scene, thread)).toBe('running');
    const stopped = await scene.uwf(['thread', 'stop', thread, '--json']);
    expect(stopped).toMatchObject({ code: 0, json: [{ status: 'idle', wasRunning: true, isKilled: false }] });
    expect(processesOf(scene)).toEqual([]);
    expect(await running.outcome).toMatchObject({ code: 130, signal: null });
    await expectRunsOn(scene, thread);
  });

  test('is killed with its uwf when that does not come to an end within the grace time', async () => {
    const scene = createStubbornScene(60_000);
    const { running, thread } = await startHanging(scene);
    const stopped = await scene.uwf(['thread', 'stop', thread, '--grace', '300ms', '--json']);
    expect(stopped).toMatchObject({ code: 0, json: [{ status: 'idle', wasRunning: true, isKilled: true }] });
    expect(await running.outcome).toMatchObject({ signal: 'SIGKILL' });
    expect(processesOf(scene)).toEqual([]);
    await expectRunsOn(scene, thread);
  });

  test('is killed where it works for a child thread of the one that is stopped', async () => {
    const scene = createStubbornScene(60_000);
    const { thread } = await startHanging(scene, 'outer');
    const stopped = await scene.uwf(['thread', 'stop', thread, '--grace', '300ms', '--json']);
    expect(stopped).toMatchObject({ code: 0, json: [{ status: 'idle', isKilled: true }] });
    expect(processesOf(scene)).toEqual([]);
    await expectRunsOn(scene, thread);
  });

  test('is ended by `thread cancel`, and so are the thread, its children and whoever ran them', async () => {
    const scene = createStubbornScene();
    const { running, thread } = await startHanging(scene, 'outer');
    const cancelled = await scene.uwf(['thread', 'cancel', thread, '-m', 'no longer needed', '--json']);
    expect(cancelled).toMatchObject({
      code: 0,
      json: [{ event: 'thread.cancelled', status: 'cancelled', returnCode: 130, text: 'no longer needed' }],
    });
    expect((await running.outcome).code).toBe(130);
    expect(processesOf(scene)).toEqual([]);
    const { json } = await scene.uwf(['thread', 'list', '--all', '--json']);
    expect(json.map(({ status }) => status)).toEqual(['cancelled', 'cancelled']);
    expect(scene.git('for-each-ref', 'refs/threads')).toBe('');
    expect((await scene.uwf(['thread', 'run', thread])).code).toBe(130);
    expect(unfinishedBelow(scene.gitDir)).toEqual([]);
    expectCleanFsck(scene.dir);
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('is ended by %s to uwf, which exits with 130', async (signal) => {
    const scene = createStubbornScene();
    const { running, thread } = await startHanging(scene);
    running.process.kill(signal);
    expect(await running.outcome).toMatchObject({ code: 130, signal: null });
    expect(processesOf(scene)).toEqual([]);
    expect(await statusOf(scene, thread)).toBe('idle');
    await expectRunsOn(scene, thread);
  });
});

describe('an agent whose uwf was killed', () => {
  test('is named by show, list and doctor, with what ends it and what goes on', async () => {
    const scene = createStubbornScene();
    const { running, thread } = await startHanging(scene);
    running.process.kill('SIGKILL');
    await running.outcome;
    // Of what it starts some live but for a moment.
    const [leader = 0] = groups(scene);
    const left = expect.arrayContaining([leader]);
    const shown = await scene.uwf(['thread', 'show', thread, '--json']);
    expect(shown.json).toMatchObject([{ status: 'interrupted', interruption: { pid: running.pid, processes: left } }]);
    const listed = await scene.uwf(['thread', 'list', '--status', 'interrupted', '--json']);
    expect(listed.json).toMatchObject([{ thread, status: 'interrupted', interruption: { processes: left } }]);
    for (const command of [['thread', 'show', thread], ['thread', 'list'], ['doctor']]) {
      const { stdout, stderr } = await scene.uwf(command);
      for (const word of ['interrupted', String(leader), `uwf thread stop ${thread}`, `uwf thread run ${thread}`]) {
        expect(stdout + stderr).toContain(word);
      }
    }
    await scene.uwf(['thread', 'stop', thread]);
    expect(processesOf(scene)).toEqual([]);
    expect(await statusOf(scene, thread)).toBe('idle');
  });

  test('is ended by the next `thread run` before that lets another one begin', async () => {
    const scene = createStubbornScene();
    const { running, thread } = await startHanging(scene);
    running.process.kill('SIGKILL');
    await running.outcome;
    expect(processesOf(scene).length).toBeGreaterThan(2);
    expect(await statusOf(scene, thread)).toBe('interrupted');
    const second = scene.start(['thread', 'run', thread, '--json']);
    await until('the next agent has begun', () => scene.lines('groups').length === 2);
    scene.write('go', '');
    expect((await second.outcome).code).toBe(0);
    // It hung when the second one began, and would have been beside it.
    expect(scene.lines('groups').map((line) => line.replace(/^\d+ /, ''))).toEqual(['alone', 'alone', 'alone']);
    expect(processesOf(scene)).toEqual([]);
    expect(unfinishedBelow(scene.gitDir)).toEqual([]);
  }, 60_000);

  test('is ended by `thread stop`, also where it works for a child thread', async () => {
    const scene = createStubbornScene();
    const { running, thread } = await startHanging(scene, 'outer');
    running.process.kill('SIGKILL');
    await running.outcome;
    const stopped = await scene.uwf(['thread', 'stop', thread, '--json']);
    expect(stopped).toMatchObject({ code: 0, json: [{ status: 'idle', wasRunning: true, isKilled: true }] });
    expect(processesOf(scene)).toEqual([]);
    await expectRunsOn(scene, thread);
  });
});

describe('a run in the background', () => {
  async function startBackground(scene: Scene): Promise<{ thread: string; pid: number }> {
    const { code, json } = await scene.uwf(['run', 'pair', '-p', 'do it', '--background', '--json']);
    expect({ code, json }).toMatchObject({ code: 0, json: [{ status: 'running' }] });
    const thread = String(json[0]?.['thread']);
    // It holds the lease from the first moment on.
    const shown = await scene.uwf(['thread', 'show', thread, '--json']);
    expect(shown.json[0]).toMatchObject({ status: 'running', holder: { pid: expect.any(Number) } });
    await until('the agent works', () => scene.lines('turns').length > 0);
    const holder = shown.json[0]?.['holder'] as { pid: number } | undefined;
    return { thread, pid: holder?.pid ?? 0 };
  }

  test('is waited for by `thread join`, which exits as the run does', async () => {
    const scene = createPatientScene();
    const { thread } = await startBackground(scene);
    expect((await scene.uwf(['thread', 'run', thread, '--background'])).code).toBe(5);
    expect((await scene.uwf(['thread', 'join', thread, '--timeout', '100ms'])).code).toBe(124);
    const joining = scene.start(['thread', 'join', thread, '--json']);
    scene.write('go', '');
    expect(await joining.outcome).toMatchObject({ code: 0, json: [{ event: 'thread.ended', thread }] });
    expect(scene.lines('turns')).toEqual(['one', 'two']);
  });

  test('that is killed leaves an interrupted thread: `thread join` returns, and the next run goes on', async () => {
    const scene = createPatientScene();
    const { thread, pid } = await startBackground(scene);
    const joining = scene.start(['thread', 'join', thread, '--json']);
    process.kill(pid, 'SIGKILL');
    expect(await joining.outcome).toMatchObject({ code: 0, json: [{ event: 'thread.idle', status: 'interrupted' }] });
    scene.write('go', '');
    expect((await scene.uwf(['thread', 'run', thread])).code).toBe(0);
    expect(scene.lines('turns')).toEqual(['one', 'one', 'two']);
    expect(unfinishedBelow(scene.gitDir)).toEqual([]);
    expectCleanFsck(scene.dir);
  });

  test('is ended by `thread stop` even at the moment it is handed over', async () => {
    const scene = createPatientScene();
    for (let round = 0; round < 5; round += 1) {
      const thread = await scene.startThread('pair');
      const starting = scene.start(['thread', 'run', thread, '--background']);
      await until('somebody has the lease', async () =>
        unfinishedBelow(scene.gitDir).some((name) => name.endsWith(`${thread}.json`)),
      );
      const stopped = await scene.uwf(['thread', 'stop', thread, '--json']);
      await starting.outcome;
      expect(stopped).toMatchObject({ code: 0, json: [{ status: 'idle' }] });
      expect((await scene.uwf(['thread', 'join', thread, '--json'])).json).toMatchObject([{ event: 'thread.idle' }]);
      // Nobody has gone on behind its back.
      expect(unfinishedBelow(scene.gitDir).filter((name) => name.startsWith('uwf/steps/'))).toEqual([]);
    }
  }, 180_000);
});
