import { expect, test } from 'vitest';
import { parseRefName } from '../../../src/git/format/refs.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { fetchThreads } from '../../../src/sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../../src/sync/push-threads.ts';
import { removeRemoteThread } from '../../../src/sync/remove-remote-thread.ts';
import { archiveThreads } from '../../../src/thread/archive-threads.ts';
import { listPointers } from '../../../src/thread/find-thread.ts';
import { startLoop } from '../../thread/thread-fixture.ts';
import { createPlaces, share, threadsOf, type Place } from '../places.ts';

test('a thread that is gone without an end or a mark is told of once, kept, and sent again', async () => {
  const { server, places } = createPlaces('Ada', 'Ben', 'Cleo');
  const [ada, ben, cleo] = places as [Place, Place, Place];
  const { id } = await share(ada, ben);
  await fetchThreads(cleo.context, cleo.remote);
  const kept = await ben.threads();
  const [[name, value]] = Object.entries(await threadsOf(server)) as [[string, ObjectId]];
  await server.refs.update([{ name: parseRefName(`refs/${name}`), expected: value, value: null }]);
  expect(await fetchThreads(ben.context, ben.remote)).toMatchObject({ gone: [id], threads: [], held: [] });
  expect(await ben.threads()).toEqual(kept);
  expect(await fetchThreads(ben.context, ben.remote)).not.toHaveProperty('gone');
  const { fetched, pushed } = await syncThreads(cleo.context, cleo.remote);
  expect([fetched.gone, pushed.threads]).toMatchObject([[id], [{ thread: id, change: 'new' }]]);
  expect(await threadsOf(server)).toEqual(kept);
});

test('what has ended, was removed or archived, or is not asked for, is not gone', async () => {
  const { server, places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  const first = await share(ada, ben);
  const second = await startLoop(ada.repository);
  await pushThreads(ada.context, ada.remote);
  const fetched = () => fetchThreads(ben.context, ben.remote);
  await fetched();
  await ada.do('end', 0);
  await pushThreads(ada.context, ada.remote);
  expect(await fetched()).not.toHaveProperty('gone');
  await archiveThreads(ada.repository, await listPointers(ada.repository, { history: true }));
  await pushThreads(ada.context, ada.remote);
  expect(await fetched()).toMatchObject({ archived: [first.id] });
  const [[name, value]] = Object.entries(await threadsOf(server)) as [[string, ObjectId]];
  await server.refs.update([{ name: parseRefName(`refs/${name}`), expected: value, value: null }]);
  const later = { endedSinceMs: 0 };
  expect(await fetchThreads(ben.context, ben.remote, later)).not.toHaveProperty('gone');
  await pushThreads(ada.context, ada.remote, { threads: [second.id] });
  await removeRemoteThread(ada.context, ada.remote, second.id);
  expect(await fetched()).not.toHaveProperty('gone');
});
