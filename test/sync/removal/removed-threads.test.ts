import { parseRefName } from '../../../src/git/format/refs.ts';
import { describe, expect, test } from 'vitest';
import type { FetchRequest } from '../../../src/git/transport/remote.ts';
import { fetchThreads } from '../../../src/sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../../src/sync/push-threads.ts';
import { removeRemoteThread } from '../../../src/sync/remove-remote-thread.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { removeThread } from '../../../src/thread/remove-thread.ts';
import { DirectRemote } from '../../helpers/direct-remote.ts';
import { startLoop } from '../../thread/thread-fixture.ts';
import { Claims } from '../../../src/worker/claims.ts';
import { createPlaces, share, threadsOf, type Place } from '../places.ts';

describe('a thread that was removed', () => {
  test('on this machine does not come back, and need not be sent, until it is asked for', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await removeThread(ben.repository, await getThread(ben.repository, id));
    await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    const asked: FetchRequest[] = [];
    const remote = new DirectRemote(ben.repository, server);
    const fetch = remote.fetch.bind(remote);
    remote.fetch = async (request) => {
      asked.push(request);
      return fetch(request);
    };
    expect((await fetchThreads(ben.context, remote)).threads).toEqual([]);
    expect(asked[0]?.except).toContain(`refs/threads/${id}`);
    await syncThreads(ben.context, remote);
    expect(await ben.threads()).toEqual({});
    // Nor when it has got another name by ending; the next time that is known.
    await ada.do('end');
    await pushThreads(ada.context, ada.remote);
    await fetchThreads(ben.context, remote);
    await fetchThreads(ben.context, remote);
    expect(asked.at(-1)?.except).toHaveLength(2);
    expect(await ben.threads()).toEqual({});
    await fetchThreads(ben.context, remote, { threads: [id] });
    expect(await ben.threads()).toEqual(await ada.threads());
    await fetchThreads(ben.context, remote);
    expect(asked.at(-1)?.except).toEqual([]);
  });

  test('at the remote goes elsewhere too, unless there are steps that were never there', async () => {
    const { server, places } = createPlaces('Ada', 'Ben', 'Cleo');
    const [ada, ben, cleo] = places as [Place, Place, Place];
    const { id } = await share(ada, ben);
    await fetchThreads(cleo.context, cleo.remote);
    await cleo.do('append');
    const kept = await cleo.threads();
    const removal = await removeRemoteThread(ada.context, ada.remote, (await getThread(ada.repository, id)).id);
    expect(removal).toMatchObject({ thread: id, change: 'removed', head: null });
    expect(await threadsOf(server)).toEqual({});
    expect(Object.keys(await ada.threads())).toEqual([`threads/${id}`]);

    expect((await fetchThreads(ben.context, ben.remote)).threads).toMatchObject([{ thread: id, change: 'removed' }]);
    expect(await ben.threads()).toEqual({});
    const { fetched, pushed } = await syncThreads(cleo.context, cleo.remote);
    expect([fetched.held, pushed.held]).toMatchObject([[{ thread: id }], [{ thread: id }]]);
    expect(await cleo.threads()).toEqual(kept);
    expect(await threadsOf(server)).toEqual({});

    expect(await pushThreads(cleo.context, cleo.remote, { threads: [id] })).toMatchObject({
      threads: [],
      held: [{ thread: id }],
    });
    const [mark] = await server.refs.list('refs/uwf/removed/');
    await server.refs.update([
      { name: parseRefName(`refs/uwf/removed/${id}`), expected: mark?.id ?? null, value: null },
    ]);
    // Without its mark it is a thread as any other.
    await syncThreads(cleo.context, cleo.remote);
    await fetchThreads(ben.context, ben.remote);
    expect(await ben.threads()).toEqual(kept);
  });

  test('at the remote takes along the claim of the worker that is at work on it', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    const { head } = await getThread(ben.repository, id);
    const who = { worker: 'ben', host: 'box', session: '0123456789abcdef', deadlineMs: 60_000 };
    const claims = new Claims(ben.repository, ben.remote, who);
    let isLost = false;
    const lost = (): void => void (isLost = true);
    expect(await claims.take([{ thread: id, head, losses: [], replaces: null, lost }])).toEqual([id]);
    await removeRemoteThread(ada.context, ada.remote, id);
    expect(await server.refs.list('refs/uwf/claims/')).toEqual([]);
    await claims.renew();
    expect(isLost).toBe(true);
  });

  test('leaves the same mark whoever removes it', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const first = await share(ada, ben);
    const second = await startLoop(ben.repository);
    await pushThreads(ben.context, ben.remote);
    await removeRemoteThread(ada.context, ada.remote, first.id);
    await removeRemoteThread(ben.context, ben.remote, second.id);
    const marks = await server.refs.list('refs/uwf/removed/');
    expect(marks).toHaveLength(2);
    expect(new Set(marks.map(({ id }) => id)).size).toBe(1);
  });

  test('is not removed from a remote that has more of it than anybody here has seen', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ben.do('append');
    await pushThreads(ben.context, ben.remote);
    const removal = removeRemoteThread(ada.context, ada.remote, id);
    await expect(removal).rejects.toMatchObject({ code: 'not-removed-there', kind: 'conflict', thread: id });
    expect(await threadsOf(server)).toEqual(await ben.threads());
    const never = removeRemoteThread(ada.context, ada.remote, (await startLoop(ada.repository)).id);
    await expect(never).rejects.toMatchObject({ code: 'thread-not-there' });
  });
});
