import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

type BenchRepository = {
  folder: string;
  env: NodeJS.ProcessEnv;
  thread: string;
  ref: string;
  filesPerStep: number[];
  remove(): void;
};

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = path.join(root, 'dist');

let repository: BenchRepository;

beforeAll(async () => {
  // Plain JavaScript, shared with the benchmark.
  const script = new URL('../../bench/lib/bench-repository.js', import.meta.url).href;
  const { makeBenchRepository } = (await import(script)) as { makeBenchRepository(): BenchRepository };
  repository = makeBenchRepository();
});

afterAll(() => {
  repository.remove();
});

/** Runs a command as `bin/uwf.js` does. @returns the files that were loaded for it, relative to `dist/` */
function filesLoadedBy(argv: readonly string[]): string[] {
  const program = `
    const fs = require('node:fs');
    const files = [];
    const { openSync } = fs;
    fs.openSync = (file, ...rest) => (files.push(file), openSync(file, ...rest));
    const { createLoader } = require(${JSON.stringify(path.join(root, 'bin/uwf.js'))});
    const argv = process.argv.slice(1);
    createLoader(${JSON.stringify(dist)}, argv, {}).load('cli.cjs').main(argv).then((code) => {
      process.stderr.write('\\n' + JSON.stringify({ code, files: files.filter((file) => file.endsWith('.cjs')) }));
    });`;
  const { stderr } = spawnSync(process.execPath, ['-e', program, '--', ...argv], {
    cwd: repository.folder,
    env: repository.env,
    encoding: 'utf8',
  });
  // The program above writes it as its last line.
  const { code, files } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { code: number; files: string[] };
  expect(code, stderr).toBe(0);
  return files.map((file) => path.relative(dist, file));
}

/** The words of a command line, with the thread and the hash of its last node in their places. */
function wordsOf(command: string): string[] {
  const { folder, env, thread, ref } = repository;
  const format = '--format=%(trailers:key=Uwf-Node,valueonly)';
  const hash = spawnSync('git', ['log', '-1', format, ref], { cwd: folder, env, encoding: 'utf8' }).stdout.trim();
  return command.split(' ').map((word) => ({ '<thread>': thread, '<hash>': hash })[word] ?? word);
}

test.each([
  ['--version', ['cli.cjs']],
  ['thread list', ['cli.cjs']],
  ['log -n 20 <thread>', ['cli.cjs', 'cli-nodes.cjs']],
  ['--help', ['cli.cjs']],
  ['cas get <hash>', ['cli.cjs', 'cli-nodes.cjs']],
  ['cas get <hash> --thread <thread>', ['cli.cjs', 'cli-nodes.cjs']],
  ['thread read <thread>', ['cli.cjs', 'cli-nodes.cjs']],
  ['thread fork <thread>', ['cli.cjs', 'cli-nodes.cjs']],
])('uwf %s, given again, loads %j and nothing else, no package at all', (command, files) => {
  const words = wordsOf(command);
  filesLoadedBy(words);
  expect(filesLoadedBy(words)).toEqual(files);
});

const rare = ['cli-late.cjs'];

test.each([
  ['workflow list', [...rare, 'cli-write.cjs', 'cli-engine.cjs']],
  ['workflow validate bench', [...rare, 'cli-write.cjs', 'cli-engine.cjs']],
  ['cas put text', [...rare, 'cli-engine.cjs']],
  ['run bench -p Write.', rare],
])('uwf %s loads none of %j', (command, others) => {
  const files = filesLoadedBy(wordsOf(command));
  expect(files).toContain('cli-nodes.cjs');
  for (const other of others) expect(files).not.toContain(other);
});

test('a step with a small reply costs at most three new files', () => {
  // The last step also writes the thread's end.
  expect(Math.max(...repository.filesPerStep.slice(0, -1))).toBeLessThanOrEqual(3);
});
