import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';

type BenchRepository = {
  folder: string;
  env: NodeJS.ProcessEnv;
  thread: string;
  filesPerStep: number[];
  remove(): void;
};

const root = fileURLToPath(new URL('../..', import.meta.url));
const bundle = path.join(root, 'dist/cli.cjs');

let repository: BenchRepository;

beforeAll(async () => {
  // Plain JavaScript, shared with the benchmark.
  const script = new URL('../../bench/bench-repository.js', import.meta.url).href;
  const { makeBenchRepository } = (await import(script)) as { makeBenchRepository(): BenchRepository };
  repository = makeBenchRepository();
});

afterAll(() => {
  repository.remove();
});

/** Runs a command as `bin/uwf.js` does. @returns the files that were loaded for it, relative to `dist/` */
function filesLoadedBy(argv: readonly string[]): string[] {
  const program = `
    require(${JSON.stringify(bundle)}).main(process.argv.slice(1)).then((code) => {
      process.stderr.write('\\n' + JSON.stringify({ code, files: Object.keys(require.cache) }));
    });`;
  const { stderr } = spawnSync(process.execPath, ['-e', program, '--', ...argv], {
    cwd: repository.folder,
    env: repository.env,
    encoding: 'utf8',
  });
  // The program above writes it as its last line.
  const { code, files } = JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { code: number; files: string[] };
  expect(code, stderr).toBe(0);
  return files.map((file) => path.relative(path.dirname(bundle), file));
}

test.each(['--version', '--help', 'thread list', 'thread show <id>'])(
  'uwf %s loads the first part of the bundle and nothing else',
  (command) => {
    const argv = command.split(' ').map((word) => (word === '<id>' ? repository.thread : word));
    expect(filesLoadedBy(argv)).toEqual(['cli.cjs']);
  },
);

test('a step with a small reply costs at most three new files', () => {
  // The last step also writes the thread's end.
  expect(Math.max(...repository.filesPerStep.slice(0, -1))).toBeLessThanOrEqual(3);
});
