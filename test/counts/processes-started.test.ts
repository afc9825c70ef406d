import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

type BenchRepository = { folder: string; env: NodeJS.ProcessEnv; thread: string; remove(): void };

const uwf = fileURLToPath(new URL('../../bin/uwf.js', import.meta.url));
const preload = path.join(import.meta.dirname, 'tell-processes.cjs');

let repository: BenchRepository;

beforeAll(async () => {
  // Plain JavaScript, shared with the benchmarks.
  const script = new URL('../../bench/lib/bench-repository.js', import.meta.url).href;
  const { makeBenchRepository } = (await import(script)) as { makeBenchRepository(): BenchRepository };
  repository = makeBenchRepository();
});

afterAll(() => {
  repository.remove();
});

/** Runs a command as it ships. @returns the programs that it started, in order */
function programsStartedBy(argv: readonly string[]): { programs: string[]; stdout: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', preload, uwf, ...argv], {
    cwd: repository.folder,
    env: repository.env,
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  const told = stderr.split('\n').filter((line) => line.startsWith('started '));
  return { programs: told.map((line) => path.basename(line.slice('started '.length))), stdout };
}

test.each([
  '--version',
  'thread list',
  'thread list --all --json',
  'thread show <thread>',
  'thread read <thread>',
  'step list <thread>',
  'log -n 20 <thread>',
  'thread verify <thread>',
  'reindex',
])('uwf %s starts no other program', (command) => {
  const words = command.split(' ').map((word) => (word === '<thread>' ? repository.thread : word));
  expect(programsStartedBy(words).programs).toEqual([]);
});

test('starting a thread and taking a step starts the agent, and two gits each: one tells the configuration, one changes the refs', () => {
  const start = programsStartedBy(['thread', 'start', 'bench', '-p', 'Write.', '--json']);
  expect(start.programs.filter((name) => name === 'git')).toHaveLength(2);
  const { thread } = JSON.parse(start.stdout) as { thread: string };
  const { programs } = programsStartedBy(['thread', 'step', thread]);
  expect(programs).toContain('node');
  expect(programs.filter((name) => name === 'git')).toHaveLength(2);
});
