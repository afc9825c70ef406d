import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createEngine } from '../../src/engine/engine.ts';
import { openRepository } from '../../src/git/open-repository.ts';
import { openRemote } from '../../src/git/transport/open-remote.ts';
import { RemoteUnreachable } from '../../src/git/transport/git-output.ts';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { pushThreads } from '../../src/sync/push-threads.ts';
import { removeRemoteThread } from '../../src/sync/remove-remote-thread.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { Publisher } from '../../src/worker/publisher.ts';
import type { TurnLock } from '../../src/worker/turn-queue.ts';
import { startLoop } from '../thread/thread-fixture.ts';
import { isolatedGitEnvironment as env, runGit } from '../helpers/temporary-repository.ts';
import { pushThread } from './pushed-thread.ts';
import { createPlaces, share, threadsOf, type Place } from '../sync/places.ts';

const lock: TurnLock = { signal: new AbortController().signal, losses: [], lose: () => expect.unreachable() };

test('a step of a thread that was removed at the remote meanwhile stays here', async () => {
  const { server, places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  const { id } = await share(ada, ben);
  const world = {
    repository: ben.repository,
    remote: ben.remote,
    sync: {},
    onTrouble: () => expect.unreachable(),
    openEngine: () => expect.unreachable(),
  };
  const publisher = new Publisher(world, id, lock);
  await ben.do('append');
  const kept = await ben.threads();
  await removeRemoteThread(ada.context, ada.remote, id);
  await expect(publisher.publish(true)).rejects.toMatchObject({ code: 'removed-there', kind: 'conflict' });
  expect([await threadsOf(server), await ben.threads()]).toEqual([{}, kept]);
  expect(await server.refs.list('refs/uwf/removed/')).toHaveLength(1);
});

test('a remote that goes away while it is looked at why a push failed is waited for', async () => {
  const { server, places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  await share(ada, ben);
  const child = await startLoop(ben.repository);
  await pushThreads(ben.context, ben.remote);
  await fetchThreads(ada.context, ada.remote);
  const [id] = Object.keys(await threadsOf(server)).map((name) => parseThreadId(name.replace('threads/', '')));
  const troubles: unknown[] = [];
  const world = {
    repository: ben.repository,
    remote: ben.remote,
    sync: {},
    onTrouble: (trouble: unknown) => void troubles.push(trouble),
    openEngine: () => expect.unreachable(),
  };
  const publisher = new Publisher(world, id!, lock);
  publisher.add([child.id]);
  // Another clone has the child further.
  await ada.do('append', 1);
  await pushThreads(ada.context, ada.remote);
  await ben.do('append', 1);
  await ben.do('append', 0);
  const fetch = vi.spyOn(ben.remote, 'fetch');
  fetch.mockRejectedValueOnce(new RemoteUnreachable('origin', 'memory:', 'the host is gone'));
  await publisher.publish(true);
  expect(troubles).toHaveLength(1);
  expect(fetch.mock.calls.length).toBeGreaterThan(1);
});

test('a step whose ref the remote cannot lock is held back, and published when it can', async () => {
  const { host, dir, thread } = await pushThread();
  const repository = await openRepository(dir, { env });
  const remote = await openRemote(repository, 'origin', { env, cwd: dir, direction: 'push', mayAsk: false });
  await fetchThreads({ repository }, remote, { env });
  await createEngine({ repository, config: { agents: {}, roles: {} } }).cancel(thread);
  const openEngine = (): never => expect.unreachable();
  const world = { repository, remote, sync: { env }, onTrouble: openEngine, openEngine };
  const publisher = new Publisher(world, thread, {
    signal: new AbortController().signal,
    losses: [],
    lose: () => expect.unreachable(),
  });
  const lock = join(host, `refs/threads/${thread}.lock`);
  writeFileSync(lock, '');
  const reason = expect.stringContaining(`${thread}.lock`) as string;
  await expect(publisher.publish(true)).rejects.toMatchObject({ code: 'step-held-back', reason });
  rmSync(lock);
  await publisher.publish(true);
  expect(runGit(host, ['for-each-ref', '--format=%(refname)'])).toMatch(/^refs\/history\/\S+$/);
  await repository.close();
});
