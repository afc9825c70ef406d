import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import { startTypeScript, type RunningScript } from '../helpers/run-typescript.ts';
import { createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { createPatientScene, filesBelow, removeLease, unfinishedBelow, until } from './scene.ts';

const script = join(import.meta.dirname, 'take-lease.ts');

/** Resolves when a process says something. */
function said({ process }: RunningScript): Promise<unknown> {
  return new Promise((resolve) => process.stdout?.once('data', resolve));
}

/** Starts the same several times; all have come as far as they can without a word when this resolves. */
async function startTogether(count: number, entry: string, args: readonly string[]): Promise<RunningScript[]> {
  const running = await Promise.all(Array.from({ length: count }, () => startTypeScript(entry, args)));
  await Promise.all(running.map(said));
  return running;
}

describe('two `thread step` at once', () => {
  test('run the agent once; the other says who holds the lease, and exits with 5', async () => {
    const scene = createPatientScene();
    const thread = await scene.startThread('pair');
    const both = [0, 1].map(() => scene.start(['thread', 'step', thread, '--json']));
    const lost = await Promise.race(both.map(({ outcome }) => outcome));
    await until('the agent works', () => scene.lines('turns').length > 0);
    scene.write('go', '');
    const outcomes = await Promise.all(both.map(({ outcome }) => outcome));
    expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set([0, 5]));

    const holder = both.find(({ pid }, index) => pid && outcomes[index]?.code === 0);
    expect(JSON.parse(lost.stderr)).toMatchObject({
      error: { code: 'lease-held', kind: 'conflict', message: expect.stringContaining(`process ${holder?.pid}`) },
    });
    expect(scene.lines('turns')).toEqual(['one']);
    expect(scene.git('rev-list', '--count', `refs/threads/${thread}`)).toBe('2');
    expect(unfinishedBelow(scene.gitDir)).toEqual([]);
    expectCleanFsck(scene.dir);
  });

  test('with the lease removed by hand both run: one is appended, the other kept as a fork, and exits with 5', async () => {
    const scene = createPatientScene();
    const thread = await scene.startThread('pair');
    const first = scene.start(['thread', 'step', thread, '--json']);
    await until('the first agent works', () => scene.lines('turns').length === 1);
    await removeLease(scene, thread);
    const second = scene.start(['thread', 'step', thread, '--json']);
    await until('the second agent works', () => scene.lines('turns').length === 2);
    scene.write('go', '');

    const outcomes = await Promise.all([first.outcome, second.outcome]);
    expect(new Set(outcomes.map(({ code }) => code))).toEqual(new Set([0, 5]));
    const won = outcomes.find(({ code }) => code === 0);
    const lost = outcomes.find(({ code }) => code === 5);
    expect(scene.git('rev-parse', `refs/threads/${thread}`)).toBe(won?.json[0]?.['head']);
    const { error } = JSON.parse(lost?.stderr ?? '') as { error: { code: string; fork: string } };
    expect(error).toMatchObject({ code: 'thread-moved', fork: expect.any(String) });

    // The fork is a thread as good as the other, and goes on by itself.
    const shown = await scene.uwf(['thread', 'show', error.fork, '--json']);
    expect(shown.json[0]).toMatchObject({ status: 'idle', steps: 1, nextRole: 'two', workflow: 'pair' });
    for (const one of [thread, error.fork]) expect((await scene.uwf(['thread', 'run', one])).code).toBe(0);
    expect(scene.lines('turns')).toEqual(['one', 'one', 'two', 'two']);
    expect(unfinishedBelow(scene.gitDir)).toEqual([]);
    expectCleanFsck(scene.dir);
  });
});

test('four processes that take and release one lease never hold it together, 200 times each', async () => {
  const { dir } = createTemporaryRepository();
  const file = join(dir, 'taken');
  writeFileSync(file, '');
  const share = join(import.meta.dirname, 'share-lease.ts');
  const thread = newThreadId(Date);
  const running = await startTogether(4, share, [dir, thread, file, '200']);
  for (const { process } of running) process.stdin?.end();
  for (const { outcome } of running) expect(await outcome).toMatchObject({ code: 0, stderr: '' });
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(lines).toHaveLength(4 * 200 * 2);
  // Each taking is followed by its own release: nobody else's comes in between.
  const overlaps = lines.filter((line, index) => index % 2 === 0 && lines[index + 1] !== line.replace('took', 'left'));
  expect(overlaps).toEqual([]);
  // Otherwise there was no race.
  const handOvers = lines.filter((line, index) => index % 2 === 0 && index > 0 && lines[index - 2] !== line);
  expect(handOvers.length).toBeGreaterThan(20);
  expect(unfinishedBelow(join(dir, '.git'))).toEqual([]);
});

test('of several that find a lease whose holder was killed exactly one gets it, 50 times', async () => {
  const { dir } = createTemporaryRepository();
  const rounds = Array.from({ length: 50 }, () => newThreadId(Date));
  const file = join(dir, 'got');
  writeFileSync(file, '');

  const race = async (running: readonly RunningScript[], firstMs: number): Promise<void> => {
    const ready = running.map(said);
    for (const { process } of running) process.stdin?.end(String(firstMs));
    await Promise.all(ready);
  };
  const args = [dir, file, '20', ...rounds];
  const [dead] = (await startTogether(1, script, args)) as [RunningScript];
  await race([dead], 0);
  dead.process.kill('SIGKILL');
  await dead.outcome;
  writeFileSync(file, '');

  const running = await startTogether(4, script, args);
  await race(running, Date.now() + 100);
  const got = readFileSync(file, 'utf8').trimEnd().split('\n');
  expect(got).toHaveLength(rounds.length);
  expect(new Set(got.map((line) => line.split(' ')[0]))).toEqual(new Set(rounds));
  // Otherwise there was no race.
  expect(new Set(got.map((line) => line.split(' ')[1])).size).toBeGreaterThan(1);
  const leases = filesBelow(join(dir, '.git')).filter((name) => name.startsWith('uwf/leases/'));
  expect(leases).toHaveLength(rounds.length);
  for (const { process, outcome } of running) {
    process.kill('SIGKILL');
    expect(await outcome).toMatchObject({ stderr: '' });
  }
});
