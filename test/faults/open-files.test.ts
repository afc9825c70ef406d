import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import { isolatedGitEnvironment } from '../helpers/temporary-repository.ts';

test('too many open files are told as what they are, say nothing of a thread, and harm none', async () => {
  const repository = createLoopRepository();
  const { thread } = (await repository.json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  const program = join(packageRoot(), 'bin', 'uwf.js');
  let refused = 0;
  // From where Node itself can start, which depends on its version.
  const count = 'process.stdout.write(String(require("node:fs").readdirSync("/proc/self/fd").length))';
  const own = Number(spawnSync(process.execPath, ['-e', count], { encoding: 'utf8' }).stdout);
  for (const limit of [1, 3, 5, 7].map((more) => own + more)) {
    for (const words of [
      ['fsck'],
      ['thread', 'list'],
      ['thread', 'verify', thread],
      ['run', 'loop', '-p', 'y'],
      ['doctor'],
    ]) {
      const limited = ['-c', `ulimit -n ${limit} && exec "$@"`, 'sh', process.execPath, program, ...words];
      const { status, stdout, stderr } = spawnSync('sh', limited, {
        cwd: repository.dir,
        env: isolatedGitEnvironment,
        encoding: 'utf8',
      });
      expect(stdout).not.toMatch(/corrupt|not sound/);
      if (status === 0) continue;
      refused += 1;
      expect([limit, words, status, stderr]).toEqual([limit, words, 1, expect.stringContaining('as many files open')]);
    }
  }
  // How many files are open at once depends on how fast they are read. The least is too little for any command.
  expect(refused).toBeGreaterThanOrEqual(4);
  expect(await repository.json(['thread', 'show', thread])).toMatchObject({ status: 'idle' });
  expect((await repository.uwf(['fsck'])).code).toBe(0);
});

test('a file that cannot be opened at the start of the program is told as that, too', () => {
  const repository = createLoopRepository();
  const fail = join(repository.dir, 'fail.cjs');
  // Another thread of Node can have the last file open for a moment.
  writeFileSync(
    fail,
    `const fs = require('node:fs');
    const { openSync } = fs;
    fs.openSync = (path, ...rest) => {
      if (!String(path).endsWith('cli.cjs')) return openSync(path, ...rest);
      const error = Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE', syscall: 'open' });
      // As if Node had raised it: this file is none of uwf's.
      error.stack = error.message;
      throw error;
    };`,
  );
  const argv = ['--require', fail, join(packageRoot(), 'bin', 'uwf.js'), 'doctor'];
  const { status, stderr } = spawnSync(process.execPath, argv, {
    cwd: repository.dir,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('as many files open') });
});

test('a limit of the size of files is told as one, and harms nothing', async () => {
  const repository = createLoopRepository();
  const program = join(packageRoot(), 'bin', 'uwf.js');
  // Too small for the pack of a step, and for the room that is reserved for a reply.
  for (const blocks of [1, 100]) {
    const limited = [
      '-c',
      `ulimit -f ${blocks} && exec "$@"`,
      'sh',
      process.execPath,
      program,
      'run',
      'loop',
      '-p',
      'y',
    ];
    const { status, stderr } = spawnSync('sh', limited, {
      cwd: repository.dir,
      env: { ...isolatedGitEnvironment, NODE_DISABLE_COMPILE_CACHE: '1' },
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("'ulimit -f'") });
  }
  expect((await repository.uwf(['fsck'])).code).toBe(0);
});
