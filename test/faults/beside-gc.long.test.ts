import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { configOf, createFixture, statuses, workflow, type EngineFixture } from '../engine/engine-fixture.ts';
import { runTypeScript } from '../helpers/run-typescript.ts';
import { expectCleanFsck, isolatedGitEnvironment } from '../helpers/temporary-repository.ts';
import { startUwf, unfinishedBelow } from './scene.ts';

/** `SUITE_GC_STEPS=4000 SUITE_GC_THREADS=100 npm run test:long -- test/faults/beside-gc` is the long run. */
const steps = Number(process.env['SUITE_GC_STEPS'] ?? 200);
const threads = Number(process.env['SUITE_GC_THREADS'] ?? 10);
const workers = 4;

const script = join(import.meta.dirname, 'step-threads.ts');

const onAndOn = workflow('on-and-on', { writer: statuses('more', 'done') }, 'writer > writer');

/** Runs a command of git again and again until told to stop. @returns how often it worked, and what it said else */
async function untilOver(over: AbortSignal, dir: string, args: readonly string[]): Promise<Loop> {
  const loop: Loop = { rounds: 0, refusals: [] };
  while (!over.aborted) {
    try {
      await promisify(execFile)('git', args, { cwd: dir, env: isolatedGitEnvironment });
      loop.rounds += 1;
    } catch (error) {
      loop.refusals.push(String(error));
    }
    await sleep(1);
  }
  return loop;
}

type Loop = { rounds: number; refusals: string[] };

/** Looks at thread after thread as a user does. @returns how often, and what else than an answer came */
async function lookOn(over: AbortSignal, cwd: string, ids: readonly string[]): Promise<Loop> {
  const loop: Loop = { rounds: 0, refusals: [] };
  for (; !over.aborted; loop.rounds += 1) {
    const id = ids[loop.rounds % ids.length]!;
    const words = [
      ['thread', 'show', id],
      ['log', '-n', '20', id],
      ['thread', 'list', '-n', '20'],
    ];
    const argv = words[loop.rounds % words.length]!;
    const { code, stderr } = await startUwf(argv, { cwd }).outcome;
    if (code !== 0 || stderr !== '') loop.refusals.push(`${argv.join(' ')}: ${code} ${stderr}`);
    await sleep(100);
  }
  return loop;
}

/** All commits of all threads, ended or not. */
function listCommits({ git }: EngineFixture): Set<string> {
  return new Set(git('rev-list', '--glob=refs/threads', '--glob=refs/history').split('\n'));
}

test(`of ${steps} steps that four processes do in ${threads} threads while git collects garbage, none is lost`, async () => {
  const fixture = await createFixture(configOf({}));
  const ids: string[] = [];
  for (let number = 0; number < threads; number += 1) {
    ids.push((await fixture.engine.start({ definition: onAndOn, prompt: `Write ${number}.` })).thread);
  }

  const over = new AbortController();
  const loops = Promise.all(
    [
      ['gc', '--quiet'],
      ['pack-refs', '--all', '--prune'],
      ['repack', '-adq'],
    ].map((args) => untilOver(over.signal, fixture.dir, args)),
  );
  const looking = lookOn(over.signal, fixture.dir, ids);
  const outcomes = await Promise.all(
    Array.from({ length: workers }, (_, worker) => {
      // Each begins elsewhere, so that they meet now and then and not always.
      const first = Math.floor((worker * threads) / workers);
      const order = [...ids.slice(first), ...ids.slice(0, first)];
      return runTypeScript(script, [fixture.dir, `worker ${worker}`, String(steps / workers), ...order]);
    }),
  ).finally(() => {
    over.abort();
  });
  const [gc, packRefs, repack] = await loops;
  const looks = await looking;

  for (const { code, stderr } of outcomes) expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(looks.refusals).toEqual([]);
  const acknowledged = outcomes.flatMap(({ stdout }) => stdout.trim().split('\n'));
  expect(new Set(acknowledged).size).toBe(steps);
  // From here on commits are read themselves: git's commit-graph remembers one after it has gone, as that of an artifact does
  // which a step has taken in; a lost one would not show in a list, and one that may go would be a complaint.
  fixture.git('config', 'core.commitGraph', 'false');
  const commits = listCommits(fixture);
  expect(acknowledged.map((line) => line.split(' ')[1]!).filter((head) => !commits.has(head))).toEqual([]);
  // Nothing was stored that was not said to be: a start for each thread, and the steps.
  expect(commits.size).toBe(threads + steps);
  // Otherwise nothing got in the way of anything.
  expect(Math.min(gc!.rounds, packRefs!.rounds, repack!.rounds, looks.rounds)).toBeGreaterThan(3);
  expect(unfinishedBelow(join(fixture.dir, '.git'))).toEqual([]);
  expectCleanFsck(fixture.dir);
}, 1_800_000);
