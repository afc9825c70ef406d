import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { closeSync, existsSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { createLoopRepository, loopReplies } from '../helpers/cli.ts';
import { installAgent } from '../helpers/install-agent.ts';
import { isolatedGitEnvironment } from '../helpers/temporary-repository.ts';

const program = join(packageRoot(), 'bin/uwf.js');

test('the program that ships runs a workflow in a process of its own', () => {
  const { dir } = createLoopRepository();
  const result = spawnSync(process.execPath, [program, 'run', 'loop', '-p', '-', '--json'], {
    cwd: dir,
    env: isolatedGitEnvironment,
    input: 'Write something',
    encoding: 'utf8',
  });
  expect(result).toMatchObject({ status: 0, stderr: '' });
  expect(JSON.parse(result.stdout.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
    event: 'thread.ended',
    status: 'ended',
  });
});

/** Runs the workflow with an agent package whose turns have a body. */
function runWith(body: string, ...options: string[]): SpawnSyncReturns<string> {
  const { dir } = createLoopRepository();
  const descriptor = "{ name: 'odd', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } }";
  const agent = `() => ({ run: async () => { ${body} } })`;
  installAgent(dir, 'odd', `exports.packageDescriptor = ${descriptor}; exports.createAgent = ${agent};`);
  writeFileSync(join(dir, '.uwf/config.yaml'), 'agents: { odd: { package: odd } }\ndefaultAgent: odd\n');
  const uwf = (...argv: string[]): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, [program, ...argv], { cwd: dir, env: isolatedGitEnvironment, encoding: 'utf8' });
  expect(uwf('trust', 'odd')).toMatchObject({ status: 0 });
  return uwf('run', 'loop', '-p', 'x', ...options);
}

test('what an agent package prints goes to stderr, and stdout stays JSON', () => {
  const print = "console.log('by console'); process.stdout.write('by stream\\n');";
  const { stdout, stderr } = runWith(`${print} return { kind: 'suspend', cause: 'agent', reason: 'why' };`, '--json');
  expect(stderr).toContain('by console\nby stream\n');
  const events = stdout.trimEnd().split('\n');
  expect(events.map((line) => JSON.parse(line))).toContainEqual(expect.objectContaining({ text: 'why' }));
});

test.each([
  ['await new Promise(() => {});', 'the command waits for something that can no longer come'],
  ['process.exit(0);', 'something in this process, such as an agent package, has called process.exit'],
  [
    "setTimeout(() => { throw new Error('late'); }); await new Promise((done) => setTimeout(done, 60_000));",
    "code that is not uwf's, such as an agent package, has ended it\nError: late",
  ],
])('a command that an agent package cuts off fails, and says so: %s', (body, said) => {
  const { status, stderr } = runWith(body);
  expect(stderr).toContain(`uwf: ${said}`);
  expect(stderr).toContain("hint: 'uwf thread list' shows whether a thread was cut off");
  expect(status).toBe(1);
});

test('a promise that an agent package leaves to reject ends no turn', () => {
  const { status, stderr } = runWith(
    "void Promise.reject(new Error('late')); await new Promise((done) => setTimeout(done, 10)); throw new Error('own');",
  );
  expect(stderr).toContain('uwf: a promise that nobody waits for was rejected: Error: late');
  expect(stderr).toContain('failed in 3 tries: own');
  expect(status).toBe(4);
});

test('its exit code is that of the command', () => {
  const { dir } = createLoopRepository();
  const result = spawnSync(process.execPath, [program, 'thread', 'show', 'x'], {
    cwd: dir,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
  });
  expect(result).toMatchObject({ status: 2, stdout: '' });
});

test('a reader that has seen enough ends it without a word', () => {
  const { dir } = createLoopRepository();
  const shell = `"$0" "$1" run loop -p x >/dev/null 2>&1; for i in 1 2 3; do "$0" "$1" cas walk 0 | head -n 1; done; exit "\${PIPESTATUS[0]}"`;
  const result = spawnSync('bash', ['-c', shell, process.execPath, program], {
    cwd: dir,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
  });
  expect(result).toMatchObject({ status: 0, stderr: '' });
  expect(result.stdout.split('\n')).toHaveLength(4);
});

test('what cannot be written is said to be the fault of the place, and on stderr is not worth a failure', () => {
  const { dir } = createLoopRepository();
  // Writing to it fails, as it does on a full disk.
  const readOnly = openSync(join(dir, '.git/HEAD'), 'r');
  const run = (stdout: number | 'pipe', stderr: number | 'pipe'): SpawnSyncReturns<string> =>
    spawnSync(process.execPath, [program, 'run', 'loop', '-p', 'x'], {
      cwd: dir,
      env: isolatedGitEnvironment,
      stdio: ['ignore', stdout, stderr],
      encoding: 'utf8',
    });
  try {
    expect(run(readOnly, 'pipe')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('could not be written: EBADF'),
    });
    expect(run('pipe', readOnly)).toMatchObject({ status: 0 });
  } finally {
    closeSync(readOnly);
  }
});

test.skipIf(!existsSync('/dev/full'))('a device that is full is no bug of uwf', () => {
  const full = openSync('/dev/full', 'w');
  try {
    const { status, stderr } = spawnSync(process.execPath, [program, '--help'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringMatching(/could not be written: ENOSPC.*\nhint: /u),
    });
  } finally {
    closeSync(full);
  }
});

test('what is long reaches a slow reader whole, whatever the pipe is', async () => {
  const { dir, uwf } = createLoopRepository();
  const long = 'a line of some length\n'.repeat(100_000);
  const { stdout } = await uwf(['cas', 'put', '-'], { input: long });
  const argv = [program, 'cas', 'get', stdout.trim()];
  const child = spawn(process.execPath, argv, {
    cwd: dir,
    env: isolatedGitEnvironment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.pause();
  await sleep(1000);
  expect(await text(child.stdout)).toBe(long);
  // A pipe that somebody else has made non-blocking.
  const nonBlocking = `import os, subprocess, sys, time
read, write = os.pipe()
os.set_blocking(write, False)
child = subprocess.Popen(sys.argv[1:], stdout=write)
os.close(write)
time.sleep(1)
size = sum(len(chunk) for chunk in iter(lambda: os.read(read, 65536), b''))
print(size, child.wait())`;
  const python = spawnSync('python3', ['-c', nonBlocking, process.execPath, ...argv], {
    cwd: dir,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
  });
  if (python.error === undefined) expect(python.stdout).toBe(`${long.length} 0\n`);
});

test('Ctrl-C ends a run and its agent, and keeps what was stored', async () => {
  const { dir, json, write } = createLoopRepository();
  write(
    'agent.cjs',
    "require('node:fs').writeFileSync('agent.pid', String(process.pid)); setTimeout(() => {}, 60_000);",
  );
  write(
    '.uwf/config.yaml',
    JSON.stringify({
      agents: {
        quick: { package: 'builtin:scripted', config: { replies: loopReplies } },
        slow: { package: 'builtin:command', config: { argv: [process.execPath, 'agent.cjs'] } },
      },
      roles: { writer: 'quick', checker: 'slow' },
    }),
  );
  const child = spawn(process.execPath, [program, 'run', 'loop', '-p', 'x'], {
    cwd: dir,
    env: isolatedGitEnvironment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = text(child.stderr);
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  const pidFile = join(dir, 'agent.pid');
  await expect
    .poll(() => spawnSync('cat', [pidFile], { encoding: 'utf8' }).stdout, { timeout: 20_000 })
    .toMatch(/^\d+$/);
  const agent = Number(spawnSync('cat', [pidFile], { encoding: 'utf8' }).stdout);
  child.kill('SIGINT');
  expect(await ended).toEqual({ code: 130, signal: null });
  expect(await said).toContain("'uwf thread run");
  expect(() => process.kill(agent, 0)).toThrow('ESRCH');
  expect(await json(['thread', 'list'])).toMatchObject([{ status: 'idle', steps: 1, nextRole: 'checker' }]);
});
