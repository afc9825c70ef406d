import { expect, test } from 'vitest';
import { removeRemoteThread } from '../../src/sync/removal/remove-remote-thread.ts';
import { Publisher } from '../../src/worker/publisher.ts';
import { createPlaces, share, threadsOf, type Place } from '../sync/places.ts';

test('a step of a thread that was removed at the remote meanwhile stays here', async () => {
  const { server, places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  const { id } = await share(ada, ben);
  const world = {
    repository: ben.repository,
    remote: ben.remote,
    sync: {},
    onTrouble: expect.unreachable,
    openEngine: () => expect.unreachable(),
  };
  const publisher = new Publisher(world, id, { signal: new AbortController().signal, losses: 0 });
  await ben.do('append');
  const kept = await ben.threads();
  await removeRemoteThread(ada.context, ada.remote, id);
  await expect(publisher.publish(true)).rejects.toMatchObject({ code: 'removed-there', kind: 'conflict' });
  expect([await threadsOf(server), await ben.threads()]).toEqual([{}, kept]);
  expect(await server.refs.list('refs/uwf/removed/')).toHaveLength(1);
});
