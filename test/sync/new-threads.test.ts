import { expect, test } from 'vitest';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../src/sync/push-threads.ts';
import type { NewThread } from '../../src/sync/new-threads.ts';
import { archiveThreads } from '../../src/thread/archive-threads.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { forkThread } from '../../src/thread/thread-verbs.ts';
import type { ThreadId } from '../../src/thread/thread-id.ts';
import { readState, type ThreadState } from '../../src/thread/thread-state.ts';
import { calledBy, startLoop } from '../thread/thread-fixture.ts';
import { createPlaces, type Place, share, threadsOf } from './places.ts';

/** Chooses some threads, and remembers what it was asked about. */
function chooser(...chosen: ThreadId[]): {
  asked: NewThread[];
  chooseNew: (of: readonly NewThread[]) => Promise<Set<ThreadId>>;
} {
  const asked: NewThread[] = [];
  return { asked, chooseNew: (of) => (asked.push(...of), Promise.resolve(new Set(chosen))) };
}

async function startChild({ repository }: Place, caller: ThreadState): Promise<ThreadId> {
  const { head } = await getThread(repository, caller.id);
  return (await startLoop(repository, calledBy(await readState(repository, caller.id, head)))).id;
}

test('a push of all sends what is new of the threads that are there, and no other thread that was not chosen', async () => {
  const { server, places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  const known = await share(ada, ben);
  await ada.do('append');
  const child = await startChild(ada, known);
  const fork = (await forkThread(ada.repository, await getThread(ada.repository, known.id))).thread;
  const alone = await startLoop(ada.repository);
  const below = await startChild(ada, alone);

  const none = chooser();
  const { threads, unsent } = await pushThreads(ada.context, ada.remote, none);
  expect(threads.map(({ thread }) => thread).toSorted()).toEqual([known.id, child].toSorted());
  expect(none.asked.map(({ thread, below: all }) => [thread, all])).toEqual([
    [fork, []],
    [alone.id, [below]],
  ]);
  expect(unsent).toEqual(none.asked);
  expect(Object.keys(await threadsOf(server)).toSorted()).toEqual(
    [`threads/${known.id}`, `threads/${child}`].toSorted(),
  );

  const one = chooser(alone.id);
  expect((await pushThreads(ada.context, ada.remote, one)).threads.map(({ thread }) => thread).toSorted()).toEqual(
    [alone.id, below].toSorted(),
  );
  // Named threads are chosen.
  const named = await pushThreads(ada.context, ada.remote, { threads: [fork], ...chooser() });
  expect(named.threads).toMatchObject([{ thread: fork }]);
  expect(named).not.toHaveProperty('unsent');
});

test('a thread that the remote has under way is not asked about, although this clone has not seen it there', async () => {
  const { places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  const { id } = await share(ada, ben);
  for (const { name } of await ben.repository.refs.list('refs/uwf/remotes/'))
    await ben.repository.refs.update([{ name, expected: (await ben.repository.refs.read(name)) ?? null, value: null }]);
  await ben.do('append');
  const none = chooser();
  expect((await pushThreads(ben.context, ben.remote, none)).threads).toMatchObject([{ thread: id, change: 'forward' }]);
  expect(none.asked).toEqual([]);
});

test('the fork that keeps steps which lost a race goes with its thread, and goes on so', async () => {
  const { places } = createPlaces('Ada', 'Ben');
  const [ada, ben] = places as [Place, Place];
  await share(ada, ben);
  await ada.do('append');
  await pushThreads(ada.context, ada.remote);
  await ben.do('append');
  const { fetched, pushed, ...rest } = await syncThreads(ben.context, ben.remote, chooser());
  const [fork] = pushed.threads;
  expect(fetched.threads).toContainEqual(expect.objectContaining({ change: 'forked', thread: fork?.thread }));
  expect({ pushed: pushed.threads.length, unsent: pushed.unsent, rest }).toEqual({ pushed: 1, unsent: [], rest: {} });
  // Also where another command made it, and it has gone on since.
  await ada.do('append');
  await pushThreads(ada.context, ada.remote);
  await ben.do('append');
  await fetchThreads(ben.context, ben.remote);
  await ben.do('append');
  expect((await pushThreads(ben.context, ben.remote, chooser())).unsent).toEqual([]);
});

test('an archived thread that the remote has nothing of is asked about, and is reported when it goes', async () => {
  const { server, places } = createPlaces('Ada');
  const [ada] = places as [Place];
  const { id } = await startLoop(ada.repository);
  await ada.do('end');
  await archiveThreads(ada.repository, [await getThread(ada.repository, id)]);
  const none = chooser();
  const report = await pushThreads(ada.context, ada.remote, none);
  expect(report).toMatchObject({ threads: [], unsent: [{ thread: id }] });
  expect(report).not.toHaveProperty('archived');
  expect(await server.refs.list('refs/')).toEqual([]);
  expect(await pushThreads(ada.context, ada.remote, chooser(id))).toMatchObject({
    threads: [{ thread: id, change: 'new' }],
    archived: [id],
    unsent: [],
  });
  expect(await pushThreads(ada.context, ada.remote, chooser())).toMatchObject({ threads: [], unsent: [] });
});
