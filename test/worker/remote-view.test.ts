import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createEngine } from '../../src/engine/engine.ts';
import { parseObjectId } from '../../src/git/format/object-id.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { stopWork } from '../../src/sync/stop-work.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { RemoteView } from '../../src/worker/find-jobs.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, isolatedGitEnvironment, runGit } from '../helpers/temporary-repository.ts';
import { sendLostEnds } from '../../src/worker/publisher.ts';
import { pushThread } from './pushed-thread.ts';

/** Has a repository refuse every push. @returns what ends that */
function refuse(host: string): () => void {
  const hook = join(host, 'hooks/pre-receive');
  writeFileSync(hook, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  return () => rmSync(hook);
}

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
  const troubles: string[] = [];
  const view = new RemoteView(repository, remote, { onTrouble: (text) => troubles.push(text) });
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
  expect(troubles).toEqual([]);
  expect((await look()).threads).toEqual([second]);
  expect(troubles).toHaveLength(1);
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

test('a thread that is gone from the remote is told of, and sent again if it has ended here', async () => {
  const { host, dir, thread, head } = await pushThread();
  const env = isolatedGitEnvironment;
  const repository = await openRepository(dir, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: dir, direction: 'push', mayAsk: false });
  const troubles: string[] = [];
  const view = new RemoteView(repository, remote, { onTrouble: (text) => troubles.push(text) });
  const look = () => view.look(() => false, new AbortController().signal);
  const gone = expect.stringContaining(`thread ${thread} is gone from origin`) as string;
  const loseIt = (): string => runGit(host, ['update-ref', '-d', `refs/threads/${thread}`]);
  await look();
  loseIt();
  await look();
  await look();
  expect([troubles, view.lostEnds.size]).toEqual([[gone], 0]);

  runGit(dir, ['push', '-q', 'origin', `refs/threads/${thread}`]);
  await look();
  await createEngine({ repository, config: { agents: {}, roles: {} } }).cancel(thread);
  loseIt();
  await look();
  expect([troubles, [...view.lostEnds]]).toEqual([[gone, gone], [thread]]);
  const allow = refuse(host);
  await sendLostEnds({ repository, remote, sync: { env } }, view.lostEnds);
  expect([...view.lostEnds]).toEqual([thread]);
  allow();
  await sendLostEnds({ repository, remote, sync: { env } }, view.lostEnds);
  expect(view.lostEnds.size).toBe(0);
  const end = runGit(dir, ['for-each-ref', '--format=%(objectname)', 'refs/history']).trim();
  expect(end).not.toBe(head);
  expect(runGit(host, ['for-each-ref', '--format=%(objectname)']).trim()).toBe(end);
  await repository.close();
});

test('an end of long ago is found when its thread is seen to be active no more', async () => {
  const { host, dir, thread, head } = await pushThread();
  const clone = createTemporaryFolder();
  runGit(clone, ['init', '-q', '.']);
  runGit(clone, ['remote', 'add', 'origin', host]);
  const env = isolatedGitEnvironment;
  const repository = await openRepository(clone, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: clone, direction: 'push', mayAsk: false });
  const view = new RemoteView(repository, remote, { onTrouble: expect.unreachable });
  await view.look(() => false, new AbortController().signal);
  expect(runGit(clone, ['rev-parse', `refs/threads/${thread}`]).trim()).toBe(head);
  const first = await openRepository(dir, { env, now: () => Date.parse('2020-02-02T12:00:00Z') });
  await createEngine({ repository: first, config: { agents: {}, roles: {} } }).cancel(thread);
  await first.close();
  runGit(dir, ['push', '-q', 'origin', `:refs/threads/${thread}`, 'refs/history/*']);
  await view.look(() => false, new AbortController().signal);
  expect(runGit(clone, ['for-each-ref', '--format=%(refname)']).trim().split('\n')).toEqual([
    `refs/history/2020-02-02/${thread}`,
    `refs/uwf/remotes/origin/history/2020-02-02/${thread}`,
  ]);
  await repository.close();
});
