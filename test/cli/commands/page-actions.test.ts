import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startInBackground } from '../../../src/cli/process/background.ts';
import { type CliEnvironment, createCliEnvironment } from '../../../src/cli/process/cli-environment.ts';
import { pageActions } from '../../../src/cli/commands/web.ts';
import { listPointers } from '../../../src/thread/find-thread.ts';
import { findLease } from '../../../src/engine/leases/find-lease.ts';
import { orElse } from '../../../src/or-else.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { type CliRepository, createLoopRepository, recorder } from '../../helpers/cli.ts';
import { isolatedGitEnvironment } from '../../helpers/temporary-repository.ts';
import { createPair } from '../../helpers/untrusted.ts';

/** The environment of a server that was started at a terminal, where a question would wait for ever. */
function atTerminal({ dir }: CliRepository, env: Record<string, string | undefined>): CliEnvironment {
  const asked = async function* (): AsyncGenerator<string> {
    yield await Promise.reject(new Error('a person was asked'));
  };
  const stdin = Object.assign(asked(), { isTTY: true });
  const log: string[] = [];
  const signal = new AbortController().signal;
  const stderr = recorder(log, { isTTY: true });
  return createCliEnvironment({
    stdin,
    stdout: recorder(log),
    stderr,
    signal,
    cwd: dir,
    env: { ...isolatedGitEnvironment, ...env },
  });
}

test('what the person has not agreed to is refused, with the command that agrees, and nobody is asked', async () => {
  const pair = createPair();
  const repository = await pair.open();
  const actions = pageActions(atTerminal(pair, pair.user), repository);
  await expect(actions.start('pair', 'Do it')).rejects.toMatchObject({
    code: 'not-trusted',
    hint: expect.stringContaining("'uwf trust' shows it"),
  });
  expect(await listPointers(repository)).toEqual([]);
});

test('a thread that has another head than was seen is left as it is, and its lease is given back', async () => {
  const loop = createLoopRepository();
  const thread = await loop.start('loop', 'Write');
  const repository = await loop.open();
  const actions = pageActions(atTerminal(loop, { UWF_TRUST: 'all' }), repository);
  const id = parseThreadId(thread);
  const [pointer] = await listPointers(repository);
  const { code } = await loop.uwf(['thread', 'step', thread]);
  expect(code).toBe(0);
  const seen = pointer?.head ?? expect.fail('the thread is there');
  await expect(actions.resume(id, {}, seen, [])).rejects.toMatchObject({ code: 'thread-moved', kind: 'conflict' });
  const fork = await actions.fork(id, 1);
  await actions.cancel(id, 'enough');
  expect(await loop.json(['thread', 'show', thread])).toMatchObject({ status: 'cancelled', holder: null });
  expect(await loop.json(['thread', 'show', fork])).toMatchObject({ steps: 1, status: 'idle' });
  await expect(actions.fork(id, 9)).rejects.toMatchObject({ kind: 'usage' });
});

test.skipIf(process.platform !== 'linux')(
  'a process that cannot be started leaves no file open, and its lease is given back',
  async () => {
    const loop = createLoopRepository();
    const thread = await loop.start('loop', 'Write');
    const repository = await loop.open();
    const id = parseThreadId(thread);
    const gone = { ...atTerminal(loop, { UWF_TRUST: 'all' }), cwd: join(loop.dir, 'gone') };
    const openFiles = (): string[] =>
      readdirSync('/proc/self/fd').flatMap((name) => {
        const path = orElse(() => readlinkSync(`/proc/self/fd/${name}`), '');
        return path.includes(thread) ? [path] : [];
      });
    await expect(startInBackground(gone, repository, id, ['thread', 'run', thread], 'words')).rejects.toThrow('ENOENT');
    expect(openFiles()).toEqual([]);
    expect(findLease(repository, id)).toBeUndefined();
  },
);
