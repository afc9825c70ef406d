import { expect, test } from 'vitest';
import { recorder } from '../helpers/cli.ts';
import { main } from '../../src/cli/main.ts';

/** What a command prints on stderr, and its exit code, if a system call of it fails. */
async function failWith(code: string, facts: object): Promise<{ exit: number; stderr: string }> {
  const stderr = recorder([]);
  const write = (): never => {
    throw Object.assign(new Error(`${code}: it failed`), { code, ...facts });
  };
  const exit = await main(['--version'], { stdout: { write }, stderr, env: {} });
  return { exit, stderr: stderr.text };
}

test('what this user may not do is no bug of uwf, and its path is named', async () => {
  for (const code of ['EACCES', 'EPERM', 'EROFS']) {
    const { exit, stderr } = await failWith(code, { syscall: 'unlink', path: '/srv/a/.git/uwf/journal/x' });
    expect(stderr).toContain(`uwf: no permission for /srv/a/.git/uwf/journal/x (${code}, unlink)\nhint: `);
    expect(exit).toBe(1);
  }
});

test('a full disk and too many open files are no bug of uwf', async () => {
  expect(await failWith('ENOSPC', { syscall: 'mkdir', path: '/srv/a' })).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('no space left to write /srv/a'),
  });
  expect(await failWith('EMFILE', { syscall: 'open' })).toMatchObject({ exit: 1 });
});

test('another error is a bug, also with such a code that no system call gave it', async () => {
  expect(await failWith('ENOENT', { syscall: 'open', path: '/srv/a' })).toMatchObject({ exit: 70 });
  expect(await failWith('EACCES', {})).toMatchObject({ exit: 70 });
});
