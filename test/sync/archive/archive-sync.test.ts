import { describe, expect, test } from 'vitest';
import type { Repository } from '../../../src/git/repository.ts';
import { ObjectBatch, publish } from '../../../src/git/stores/publish.ts';
import { fetchThreads } from '../../../src/sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../../src/sync/push-threads.ts';
import { removeRemoteThread } from '../../../src/sync/remove-remote-thread.ts';
import { archiveTo } from '../../../src/sync/push-archive.ts';
import {
  addListCommit,
  type ArchivedThread,
  editList,
  findArchived,
  LIST_REF,
  openArchive,
} from '../../../src/thread/archive-list.ts';
import { archiveThreads } from '../../../src/thread/archive-threads.ts';
import { getThread, listPointers } from '../../../src/thread/find-thread.ts';
import { dayOfEnd, type ThreadId } from '../../../src/thread/thread-id.ts';
import { DirectRemote } from '../../helpers/direct-remote.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { startLoop } from '../../thread/thread-fixture.ts';
import { createPlaces, share, threadsOf, type Place } from '../places.ts';

async function archiveAll(repository: Repository): Promise<void> {
  await archiveThreads(repository, await listPointers(repository, { history: true }));
}

async function archivedIn(repository: Repository): Promise<ThreadId[]> {
  return (await findArchived(repository, '')).map(({ id }) => id);
}

describe('threads that a clone archives', () => {
  test('are archived at the remote and in other clones, and come to a new one by name alone', async () => {
    const { server, places } = createPlaces('Ada', 'Ben', 'Cleo');
    const [ada, ben, cleo] = places as [Place, Place, Place];
    const { id } = await share(ada, ben);
    await ada.do('end');
    await pushThreads(ada.context, ada.remote);
    await fetchThreads(ben.context, ben.remote);
    await archiveAll(ada.repository);
    expect(await pushThreads(ada.context, ada.remote)).toMatchObject({ archived: [id], held: [], rejected: [] });
    expect(await threadsOf(server)).toEqual({});
    expect(await archivedIn(server)).toEqual([id]);
    expect(await pushThreads(ada.context, ada.remote)).not.toHaveProperty('archived');

    expect(await syncThreads(ben.context, ben.remote)).toMatchObject({ fetched: { archived: [id] } });
    expect([await ben.threads(), await archivedIn(ben.repository)]).toEqual([{}, [id]]);
    expect(await threadsOf(server)).toEqual({});

    await fetchThreads(cleo.context, cleo.remote);
    await expect(getThread(cleo.repository, id)).rejects.toThrow(`thread ${id} is archived at origin`);
    await expect(fetchThreads(cleo.context, cleo.remote, { threads: ['07'] })).rejects.toThrow("has no thread '07'");
    expect(await fetchThreads(cleo.context, cleo.remote, { threads: [id] })).toMatchObject({
      threads: [{ thread: id, change: 'new' }],
    });
    expect((await getThread(cleo.repository, id)).head).toBe((await getThread(ada.repository, id)).head);
    await pushThreads(cleo.context, cleo.remote);
    expect(await threadsOf(server)).toEqual({});
  });

  test('and that another one still has as active, or took further, end there', async () => {
    const { server, places } = createPlaces('Ada', 'Ben', 'Cleo');
    const [ada, ben, cleo] = places as [Place, Place, Place];
    const { id } = await share(ada, ben);
    await fetchThreads(cleo.context, cleo.remote);
    await ada.do('end');
    await archiveAll(ada.repository);
    await pushThreads(ada.context, ada.remote);
    expect(await threadsOf(server)).toEqual({});
    await cleo.do('append');
    expect((await pushThreads(cleo.context, cleo.remote)).held).toMatchObject([{ thread: id }]);
    expect(await threadsOf(server)).toEqual({});

    expect((await syncThreads(ben.context, ben.remote)).fetched.threads).toMatchObject([
      { thread: id, change: 'ended' },
    ]);
    expect(await threadsOf(server)).toEqual({});
    await syncThreads(cleo.context, cleo.remote);
    const { head } = await getThread(cleo.repository, id);
    expect(head).toBe((await getThread(ada.repository, id)).head);
    // What went on otherwise is a fork.
    expect(Object.keys(await threadsOf(server))).toHaveLength(1);
  });

  test('by two at once at one remote are in its archive, each once', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await share(ada, ben);
    await ada.do('end');
    await startLoop(ben.repository);
    await ben.do('end', 1);
    const all = [...(await listPointers(ada.repository)), ...(await listPointers(ben.repository, { history: true }))];
    await archiveAll(ada.repository);
    await archiveAll(ben.repository);
    await Promise.all(places.map(({ context, remote }) => pushThreads(context, remote)));
    expect(await archivedIn(server)).toEqual(all.map(({ id }) => id).toSorted());
    await Promise.all(places.map(({ context, remote }) => syncThreads(context, remote)));
    expect(await threadsOf(server)).toEqual({});
  });

  test('and that are removed at the remote leave every archive', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ada.do('end');
    await archiveAll(ada.repository);
    await pushThreads(ada.context, ada.remote);
    await syncThreads(ben.context, ben.remote);
    await syncThreads(ben.context, ben.remote);
    expect(await archivedIn(ben.repository)).toEqual([id]);
    // Only Ada has the commit that keeps the end.
    await expect(removeRemoteThread(ben.context, ben.remote, id)).rejects.toThrow('still has thread');
    expect(await removeRemoteThread(ada.context, ada.remote, id)).toMatchObject({ thread: id, change: 'removed' });
    expect(await archivedIn(server)).toEqual([]);
    expect((await server.refs.list('refs/uwf/archive/ends/')).length).toBe(0);
    const { fetched } = await syncThreads(ben.context, ben.remote);
    expect(fetched.threads).toMatchObject([{ thread: id, change: 'removed' }]);
    expect(await archivedIn(ben.repository)).toEqual([]);
    // Here it was not removed yet; it is not pushed again.
    await syncThreads(ada.context, ada.remote);
    expect(await archivedIn(server)).toEqual([]);
  });

  test('to another remote are here by their place alone', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ada.do('end');
    await pushThreads(ada.context, ada.remote);
    const cold = createMapRepository();
    const remote = new DirectRemote(ada.repository, cold, 'cold');
    // A line that nobody could read is not written, and nothing is sent.
    const far = Object.assign(new DirectRemote(ada.repository, cold, 'cold'), { url: `https://x/${'é'.repeat(400)}` });
    await expect(
      archiveTo(ada.repository, far, await listPointers(ada.repository, { history: true }), {}),
    ).rejects.toMatchObject({ code: 'place-too-long' });
    expect(await archivedIn(cold)).toEqual([]);
    const moved = await archiveTo(ada.repository, remote, await listPointers(ada.repository, { history: true }), {});
    expect(moved).toMatchObject({ archived: [{ id }], held: [], rejected: [] });
    expect([await archivedIn(cold), await archivedIn(ada.repository), await ada.threads()]).toEqual([[id], [], {}]);
    await expect(getThread(ada.repository, id)).rejects.toThrow(`is archived at memory:`);
    await pushThreads(ada.context, ada.remote);
    expect([await threadsOf(server), await archivedIn(server)]).toEqual([{}, []]);
    expect(await (await openArchive(server)).find(id)).toMatchObject({ place: 'memory:' });
    expect(await fetchThreads(ada.context, remote, { threads: [id] })).toMatchObject({ threads: [{ thread: id }] });
    expect((await fetchThreads(ben.context, ben.remote)).held).toMatchObject([{ thread: id }]);
  });
});

describe('an archive that a remote made up', () => {
  async function forge(server: Repository, line: ArchivedThread): Promise<void> {
    const batch = new ObjectBatch(server.objects.format);
    const value = addListCommit(batch, await editList(server.objects, batch, undefined, new Map([[line.id, line]])));
    await publish(server, batch, [{ name: LIST_REF, expected: null, value }]);
  }

  test('gives no end that is not the thread’s, or is missing', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await share(ada, ben);
    await ada.do('append');
    await ada.do('end');
    const [ended] = await listPointers(ada.repository);
    await startLoop(ada.repository);
    await pushThreads(ada.context, ada.remote);
    const [, other] = await listPointers(ada.repository);
    if (ended === undefined || other === undefined) throw new Error('there are two threads');
    // An active thread as the end, and a day that is not the end's.
    for (const line of [
      { id: ended.id, end: other.head, endedOn: dayOfEnd(ended.ref) },
      { id: ended.id, end: ended.head, endedOn: '2020-01-01' },
    ]) {
      await server.refs.update(
        (await server.refs.list('refs/')).flatMap(({ name, id }) =>
          name === LIST_REF || name.includes(ended.id) ? [{ name, expected: id, value: null }] : [],
        ),
      );
      await forge(server, line);
      const report = await fetchThreads(ben.context, ben.remote);
      expect(report.refused).toHaveLength(1);
      expect(Object.keys(await ben.threads())).toContain(`threads/${ended.id}`);
    }
  });

  test('is refused if it is no list, and pushes leave it', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await share(ada, ben);
    await ada.do('end');
    const batch = new ObjectBatch(server.objects.format);
    const tree = batch.addTree([{ mode: '100644', name: 'index', id: batch.addBlob('no list') }]);
    const by = { name: 'x', email: 'x', atMs: 0 };
    const value = batch.addCommit({ tree, parents: [], author: by, committer: by, message: 'archive\n' });
    await publish(server, batch, [{ name: LIST_REF, expected: null, value }]);
    expect((await fetchThreads(ben.context, ben.remote)).refused).toMatchObject([{ ref: LIST_REF }]);
    await archiveAll(ada.repository);
    expect((await pushThreads(ada.context, ada.remote)).rejected).toMatchObject([{ ref: LIST_REF }]);
    expect(await server.refs.read(LIST_REF)).toBe(value);
  });

  test('is refused if it is a thread that is known here, and all else is fetched and pushed', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id, head } = await share(ada, ben);
    server.refMap.set(LIST_REF, head.id);
    const other = await startLoop(ben.repository);
    await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    const { fetched, pushed } = await syncThreads(ben.context, ben.remote);
    expect(fetched).toMatchObject({ threads: [{ thread: id, change: 'forward' }], refused: [{ ref: LIST_REF }] });
    expect(pushed.threads).toMatchObject([{ thread: other.id, change: 'new' }]);
    const third = await startLoop(ben.repository);
    expect((await pushThreads(ben.context, ben.remote)).threads).toMatchObject([{ thread: third.id }]);
  });
});
