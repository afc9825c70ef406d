import { expect, test, vi } from 'vitest';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { stopWork } from '../../src/sync/claims/stop-work.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { RemoteView } from '../../src/worker/remote-view.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';

test('a list that stays the same reads no tracking ref, and one that changes is followed', async () => {
  const host = createTemporaryFolder();
  runGit(host, ['init', '-q', '--bare', '.']);
  const { dir, json } = createLoopRepository();
  const start = async (): Promise<string> => {
    const { thread } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
    runGit(dir, ['push', '-q', host, `refs/threads/${thread}`]);
    return thread;
  };
  const clone = createTemporaryFolder();
  runGit(clone, ['init', '-q', '.']);
  runGit(clone, ['remote', 'add', 'origin', host]);
  const env = isolatedGitEnvironment;
  const repository = await openRepository(clone, { env });
  const list = vi.spyOn(repository.refs, 'list');
  const remote = await openRemote(repository, 'origin', { env, cwd: clone, direction: 'push', mayAsk: false });
  const view = new RemoteView(repository, remote, { onTrouble: expect.unreachable });
  const look = async (): Promise<{ threads: string[]; reads: number }> => {
    list.mockClear();
    await view.look(() => false, new AbortController().signal);
    return { threads: [...view.threads.keys()].toSorted(), reads: list.mock.calls.length };
  };

  const first = await start();
  expect((await look()).threads).toEqual([first]);
  expect((await look()).reads).toBeGreaterThan(0);
  expect(await look()).toEqual({ threads: [first], reads: 0 });

  const second = await start();
  expect((await look()).threads).toEqual([first, second]);
  expect(runGit(clone, ['for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads']).split('\n')).toContain(second);
  await look();
  runGit(host, ['update-ref', '-d', `refs/threads/${first}`]);
  expect((await look()).threads).toEqual([second]);
  await repository.close();
});

test.each([true, false])(
  'a claim is read in the look that finds it if that is wanted, else once it has settled: %s',
  async (isWanted) => {
    const host = createTemporaryFolder();
    runGit(host, ['init', '-q', '--bare', '.']);
    const { dir, json } = createLoopRepository();
    const { thread: id } = (await json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
    const thread = parseThreadId(id);
    runGit(dir, ['push', '-q', host, `refs/threads/${thread}`]);
    const env = isolatedGitEnvironment;
    const open = async (folder: string) => {
      runGit(folder, ['remote', 'add', 'origin', host]);
      const repository = await openRepository(folder, { env });
      const remote = await openRemote(repository, 'origin', { env, cwd: folder, direction: 'push', mayAsk: false });
      return { repository, remote };
    };
    const laptop = await open(dir);
    const clone = createTemporaryFolder();
    runGit(clone, ['init', '-q', '.']);
    const machine = await open(clone);
    const options = { onTrouble: expect.unreachable, ...(isWanted && { readsClaimsAtOnce: true }) };
    const view = new RemoteView(machine.repository, machine.remote, options);
    const head = parseObjectId(runGit(dir, ['rev-parse', `refs/threads/${thread}`]).trim());
    await stopWork(laptop.repository, laptop.remote, [{ thread, head }], { env });
    await view.look(() => false, new AbortController().signal);
    expect(view.isStopped(thread)).toBe(isWanted);
    await machine.repository.close();
    await laptop.repository.close();
  },
);
