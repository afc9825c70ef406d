import { expect, test } from 'vitest';
import { readCommit } from '../../src/git/stores/read.ts';
import { claimRef, makeClaim } from '../../src/sync/claims.ts';
import { letGoOn, stoppedAmong, stopWork } from '../../src/sync/stop-work.ts';
import { fetchSelection } from '../../src/sync/fetch-threads.ts';
import { selectPatterns } from '../../src/sync/plan-fetch.ts';
import { pushThreads } from '../../src/sync/push-threads.ts';
import type { ThreadId } from '../../src/thread/thread-id.ts';
import { startLoop } from '../thread/thread-fixture.ts';
import { createPlaces, type Place, share } from './places.ts';

async function stoppedFor({ repository, remote }: Place, threads: readonly ThreadId[]): Promise<Set<ThreadId>> {
  const { there } = await fetchSelection(repository, remote, selectPatterns(threads.map(claimRef)), {});
  return stoppedAmong(repository, there);
}

test('the threads whose work was stopped at a remote are found, as long as it is, and no others', async () => {
  const { server, places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  const threads = [];
  for (let count = 0; count < 3; count += 1) threads.push(await startLoop(ada.repository));
  await pushThreads(ada.context, ada.remote);
  const [stopped, claimed, free] = threads.map(({ id, head }) => ({ thread: id, head: head.id }));
  const all = threads.map(({ id }) => id);
  await stopWork(ada.repository, ada.remote, [stopped!], {});
  const claim = { ...claimed!, worker: 'w', host: 'h', session: '0123456789abcdef', count: 0, deadlineMs: 1_000 };
  const { id, batch } = makeClaim('sha1', claim, 0);
  for (const object of batch.objects) await server.objects.write([object]);
  server.refMap.set(claimRef(claim.thread), id);
  // A ref with the claim of another thread says nothing of its own.
  server.refMap.set(claimRef(free!.thread), server.refMap.get(claimRef(stopped!.thread))!);

  expect(await stoppedFor(ben, all)).toEqual(new Set([stopped!.thread]));
  expect(await stoppedFor(ben, [claimed!.thread, free!.thread])).toEqual(new Set());
  await letGoOn(ada.repository, ada.remote, [stopped!], {});
  expect(await stoppedFor(ben, all)).toEqual(new Set());
});

test('a ref of a claim that leads to what is here and is no commit counts as malformed, and can be replaced', async () => {
  const { server, places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  const { id: thread, head } = await share(ada, ben);
  const { tree } = await readCommit(ben.repository.objects, head.id);
  server.refMap.set(claimRef(thread), tree);
  expect(await stoppedFor(ben, [thread])).toEqual(new Set());
  await stopWork(ben.repository, ben.remote, [{ thread, head: head.id }], {});
  expect(await stoppedFor(ben, [thread])).toEqual(new Set([thread]));
});
