import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { DirectRemote } from '../helpers/direct-remote.ts';
import { createTemporaryFolder } from '../helpers/temporary-repository.ts';
import { takeLease } from '../../src/engine/lease.ts';
import type { ObjectId } from '../../src/git/object-id.ts';
import { parseRefName } from '../../src/git/ref-name.ts';
import type { FetchRequest } from '../../src/git/remote.ts';
import type { Repository } from '../../src/git/repository.ts';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { pushThreads } from '../../src/sync/push-threads.ts';
import { removeRemoteThread } from '../../src/sync/remove-remote-thread.ts';
import { syncThreads } from '../../src/sync/sync-threads.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { removeThread } from '../../src/thread/remove-thread.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { findWorkflow } from '../../src/workflow/find-workflow.ts';
import { registerWorkflow } from '../../src/workflow/register-workflow.ts';
import { startLoop, loop } from '../thread/thread-fixture.ts';
import { act, contextOf, createLedger, type Action, type Clone } from './clones.ts';

type Place = Clone & {
  context: ReturnType<typeof contextOf>;
  name: string;
  /** Does something to its only thread, or to the one at a place in the order of their ids. */
  do(kind: Action['kind'], pick?: number): Promise<void>;
  /** Where its threads are: names of refs without what they have in common, and commits. */
  threads(): Promise<Record<string, ObjectId>>;
};

let clockMs = Date.parse('2026-11-21T12:00:00Z');

function createPlaces(...names: string[]): { server: MapRepository; places: Place[] } {
  const folder = createTemporaryFolder();
  const server = createMapRepository();
  const places = names.map((name): Place => {
    const repository: Repository = {
      ...createMapRepository(),
      stateDir: join(folder, name),
      committer: { name, email: `${name}@example.com` },
      now: () => (clockMs += 1_000),
    };
    const remote = new DirectRemote(repository, server);
    const clone = { repository, remote };
    return {
      ...clone,
      name,
      context: contextOf(repository),
      do: (kind, pick = 0) => act(clone, { clone: 0, kind, pick }, createLedger()),
      threads: () => threadsOf(repository),
    };
  });
  return { server, places };
}

async function threadsOf({ refs }: Pick<Repository, 'refs'>): Promise<Record<string, ObjectId>> {
  const found = [...(await refs.list('refs/threads/')), ...(await refs.list('refs/history/'))];
  return Object.fromEntries(found.map(({ name, id }) => [name.replace('refs/', ''), id]));
}

/** A thread that both have, at the same step. */
async function share(ada: Place, ben: Place): Promise<ThreadState> {
  const state = await startLoop(ada.repository);
  await ada.do('append');
  await pushThreads(ada.context, ada.remote);
  await fetchThreads(ben.context, ben.remote);
  return state;
}

describe('a fetch', () => {
  test('brings threads and workflows, and tells of each', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await registerWorkflow(ada.repository, loop);
    const { id } = await startLoop(ada.repository);
    await ada.do('append');
    const pushed = await pushThreads(ada.context, ada.remote);
    const { head } = await getThread(ada.repository, id);
    expect(pushed).toMatchObject({
      remote: 'origin',
      threads: [{ thread: id, change: 'new', head, before: null }],
      workflows: [{ workflow: 'loop', change: 'new', before: null }],
      rejected: [],
      held: [],
    });
    const fetched = await fetchThreads(ben.context, ben.remote);
    expect(fetched).toMatchObject({
      threads: [{ thread: id, change: 'new', head, before: null }],
      workflows: [{ workflow: 'loop', change: 'new' }],
      refused: [],
      held: [],
    });
    expect(await findWorkflow(ben.repository, 'loop')).toEqual(await findWorkflow(ada.repository, 'loop'));
    await ben.do('append');
    expect((await pushThreads(ben.context, ben.remote)).threads).toMatchObject([
      { thread: id, change: 'forward', before: head, commits: 1 },
    ]);
    expect((await fetchThreads(ada.context, ada.remote)).threads).toMatchObject([
      { thread: id, change: 'forward', before: head, commits: 1 },
    ]);
    expect((await pushThreads(ada.context, ada.remote)).threads).toEqual([]);
  });

  test('names what it refuses, and sums up what there is much of', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    const { head } = await getThread(ada.repository, id);
    for (let i = 0; i < 40; i += 1) server.refMap.set(parseRefName(`refs/threads/nonsense-${i}`), head);
    server.refMap.set(parseRefName('refs/history/2026-13-01/01KAM4Z0000000000000000000'), head);
    server.refMap.set(parseRefName('refs/workflows/Loud'), head);
    server.refMap.set(parseRefName('refs/uwf/removed/01KAM4Z0000000000000000000'), head);
    await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    const { threads, refused } = await fetchThreads(ben.context, ben.remote);
    expect(threads).toMatchObject([{ thread: id, change: 'forward' }]);
    const nonsense = refused.filter(({ ref }) => ref.startsWith('refs/threads/nonsense-'));
    expect(nonsense).toHaveLength(5);
    expect(nonsense.at(-1)).toMatchObject({ reason: 'its name is no thread id', more: 35 });
    expect(refused.map(({ ref }) => ref)).toEqual(
      expect.arrayContaining([
        'refs/history/2026-13-01/01KAM4Z0000000000000000000',
        'refs/workflows/Loud',
        'refs/uwf/removed/01KAM4Z0000000000000000000',
      ]),
    );
    expect(
      (await ben.repository.refs.list('refs/')).filter(({ name }) => /nonsense|loop|Loud|13-01/.test(name)),
    ).toEqual([]);
  });

  test('does not believe what a plain git fetch has brought', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    // A commit without anything in it, at the end of the thread.
    const { head } = await getThread(ada.repository, id);
    const bad = await writeBareCommit(ben.repository, head);
    await writeBareCommit(server, head);
    server.refMap.set(parseRefName(`refs/threads/${id}`), bad);
    const tracking = parseRefName(`refs/uwf/remotes/origin/threads/${id}`);
    await ben.repository.refs.update([{ name: tracking, expected: head, value: bad }]);
    const { threads, refused } = await fetchThreads(ben.context, ben.remote);
    expect(threads).toEqual([]);
    expect(refused).toMatchObject([{ ref: `refs/threads/${id}` }]);
    expect(await getThread(ben.repository, id)).toMatchObject({ head });
    // Nor is it pushed over.
    await ben.do('append');
    expect((await pushThreads(ben.context, ben.remote)).held).toMatchObject([{ thread: id }]);
    expect((await syncThreads(ben.context, ben.remote)).pushed.held).toMatchObject([{ thread: id }]);
    expect(server.refMap.get(parseRefName(`refs/threads/${id}`))).toBe(bad);
  });

  test('takes in what somebody pushed and fetched with plain git', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const state = await startLoop(ada.repository);
    await ada.do('append');
    const { ref, head } = await getThread(ada.repository, state.id);
    await ada.remote.push({ edits: [{ name: ref, value: head }] });
    const { threads } = await fetchThreads(ben.context, ben.remote);
    expect(threads).toMatchObject([{ thread: state.id, change: 'new', head }]);
    // Pushed back by somebody who had not heard of its end.
    await ben.do('end');
    await pushThreads(ben.context, ben.remote);
    expect(await threadsOf(server)).toEqual(await ben.threads());
    await ada.remote.push({ edits: [{ name: ref, value: head }] });
    expect(Object.keys(await threadsOf(server))).toHaveLength(2);
    const synced = await syncThreads(ada.context, ada.remote);
    expect(synced.fetched.threads).toMatchObject([{ thread: state.id, change: 'ended' }]);
    expect(await threadsOf(server)).toEqual(await ben.threads());
    expect(await ada.threads()).toEqual(await ben.threads());
  });

  test('forgets what the remote no longer has, and keeps the thread', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    server.refMap.delete(parseRefName(`refs/threads/${id}`));
    await fetchThreads(ben.context, ben.remote);
    expect(await ben.repository.refs.list('refs/uwf/remotes/')).toEqual([]);
    expect(Object.keys(await ben.threads())).toEqual([`threads/${id}`]);
  });

  test('of some threads brings these and nothing else', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const first = await startLoop(ada.repository);
    clockMs += 40 * 86_400_000;
    const second = await startLoop(ada.repository);
    await registerWorkflow(ada.repository, loop);
    await pushThreads(ada.context, ada.remote);
    await fetchThreads(ben.context, ben.remote, { threads: [first.id.toLowerCase()] });
    expect(Object.keys(await ben.threads())).toEqual([`threads/${first.id}`]);
    expect(await findWorkflow(ben.repository, 'loop')).toBeUndefined();
    const none = fetchThreads(ben.context, ben.remote, { threads: ['7ZZZ'] });
    await expect(none).rejects.toMatchObject({ code: 'thread-not-there', kind: 'usage' });
    const both = fetchThreads(ben.context, ben.remote, { threads: ['0'] });
    await expect(both).rejects.toMatchObject({ code: 'ambiguous-thread' });

    const { places: others } = createPlaces('Cleo');
    const [cleo] = others as [Place];
    const remote = new DirectRemote(cleo.repository, (ada.remote as DirectRemote).there);
    await fetchThreads(cleo.context, remote, { sinceMs: clockMs - 86_400_000 });
    expect(Object.keys(await cleo.threads())).toEqual([`threads/${second.id}`]);
    expect(await findWorkflow(cleo.repository, 'loop')).toBeDefined();
  });

  test('leaves a thread alone that is being worked on, until that is over', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    const before = await ben.threads();
    const lease = await takeLease(ben.repository, (await getThread(ben.repository, id)).id);
    expect(await fetchThreads(ben.context, ben.remote)).toMatchObject({ threads: [], held: [{ thread: id }] });
    expect(await ben.threads()).toEqual(before);
    lease.release();
    expect(await fetchThreads(ben.context, ben.remote)).toMatchObject({ threads: [{ thread: id }], held: [] });
  });

  test('from a place without a name remembers nothing of it', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    const path = new DirectRemote(ben.repository, server, '/somewhere', false);
    await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    await ben.repository.refs.update(
      (await ben.repository.refs.list('refs/uwf/')).map(({ name, id: expected }) => ({ name, expected, value: null })),
    );
    expect((await fetchThreads(ben.context, path)).threads).toMatchObject([{ thread: id, change: 'forward' }]);
    expect(await ben.repository.refs.list('refs/uwf/')).toEqual([]);
    await ben.do('append');
    expect((await pushThreads(ben.context, path)).threads).toMatchObject([{ thread: id, commits: 1 }]);
    expect(await threadsOf(server)).toEqual(await ben.threads());
  });
});

describe('a push', () => {
  test('of an ended thread takes its active ref away there in the same push', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ben.do('append');
    await ben.do('end');
    const { threads } = await pushThreads(ben.context, ben.remote);
    expect(threads).toMatchObject([{ thread: id, change: 'ended', commits: 2 }]);
    expect(await threadsOf(server)).toEqual(await ben.threads());
  });

  test('says what it would do, and does not', async () => {
    const { server, places } = createPlaces('Ada');
    const [ada] = places as [Place];
    const { id } = await startLoop(ada.repository);
    expect((await pushThreads(ada.context, ada.remote, { dryRun: true })).threads).toMatchObject([{ thread: id }]);
    expect(await threadsOf(server)).toEqual({});
    expect(await ada.repository.refs.list('refs/uwf/')).toEqual([]);
  });

  test('holds what has moved there, pushes the rest, and a fetch makes a fork of it', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    const other = await startLoop(ben.repository);
    await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    await ben.do('append');
    const { head } = await getThread(ben.repository, id);
    const pushed = await pushThreads(ben.context, ben.remote);
    expect(pushed.threads).toMatchObject([{ thread: other.id, change: 'new' }]);
    expect(pushed.held).toMatchObject([{ thread: id, reason: expect.stringContaining('fetch first') }]);
    const { threads } = await fetchThreads(ben.context, ben.remote);
    expect(threads).toMatchObject([
      { change: 'forked', of: id, head },
      { thread: id, change: 'forward' },
    ]);
    expect((await pushThreads(ben.context, ben.remote)).held).toEqual([]);
    expect(await threadsOf(server)).toEqual(await ben.threads());
  });

  test('goes through although the last one was done and never heard of', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ben.do('append');
    const { ref, head } = await getThread(ben.repository, id);
    await ben.remote.push({ edits: [{ name: ref, value: head }] });
    await ben.do('append');
    expect(await pushThreads(ben.context, ben.remote)).toMatchObject({
      held: [],
      threads: [{ thread: id, commits: 1 }],
    });
    expect(await threadsOf(server)).toEqual(await ben.threads());
  });

  test('does not bring a thread back that has ended there since', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ada.do('end');
    await pushThreads(ada.context, ada.remote);
    await ben.do('append');
    expect((await pushThreads(ben.context, ben.remote)).held).toMatchObject([{ thread: id }]);
    expect(await threadsOf(server)).toEqual(await ada.threads());
  });

  test('of a child says that the steps of its caller go along', async () => {
    const { places } = createPlaces('Ada');
    const [ada] = places as [Place];
    const caller = await startLoop(ada.repository);
    await ada.do('append');
    const { head } = await getThread(ada.repository, caller.id);
    const state = { thread: caller.start.hash, state: caller.start.hash, role: 'writer', head, depth: 1 };
    const child = await startLoop(ada.repository, { parent: state });
    const { threads, alongside } = await pushThreads(ada.context, ada.remote, { threads: [child.id] });
    expect(threads).toMatchObject([{ thread: child.id, change: 'new' }]);
    expect(alongside).toEqual([caller.id]);
    expect((await pushThreads(ada.context, ada.remote)).alongside).toEqual([]);
  });

  test('reads what is new, however long the thread is', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await share(ada, ben);
    for (let step = 0; step < 60; step += 1) await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    await ada.do('append');
    let reads = 0;
    const { objects } = ada.repository;
    const read: typeof objects.read = async (id, options) => ((reads += 1), objects.read(id, options));
    const counting = contextOf({ ...ada.repository, objects: { ...objects, read } });
    expect((await pushThreads(counting, ada.remote)).threads).toMatchObject([{ commits: 1 }]);
    expect(reads).toBeLessThan(10);
  });
});

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
    expect(asked.at(-1)?.except).toBeUndefined();
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

    // By its name it goes back, and the mark goes.
    expect((await pushThreads(cleo.context, cleo.remote, { threads: [id] })).threads).toMatchObject([{ thread: id }]);
    expect(await server.refs.list('refs/uwf/removed/')).toEqual([]);
    await fetchThreads(ben.context, ben.remote);
    expect(await ben.threads()).toEqual(kept);
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

describe('workflows', () => {
  test('that were registered on two machines are joined, in the same way on each', async () => {
    const { places } = createPlaces('Ada', 'Ben', 'Cleo');
    const [ada, ben, cleo] = places as [Place, Place, Place];
    await registerWorkflow(ada.repository, { ...loop, description: 'hers' });
    await pushThreads(ada.context, ada.remote);
    const newest = await registerWorkflow(ben.repository, { ...loop, description: 'his' });
    expect((await pushThreads(ben.context, ben.remote)).rejected).toMatchObject([{ ref: 'refs/workflows/loop' }]);
    // Cleo has what Ben has, from elsewhere.
    await fetchThreads(cleo.context, new DirectRemote(cleo.repository, ben.repository, 'ben'));
    const { fetched, pushed } = await syncThreads(ben.context, ben.remote);
    expect(fetched.workflows).toMatchObject([{ workflow: 'loop', change: 'joined' }]);
    expect(pushed).toMatchObject({ workflows: [{ workflow: 'loop', change: 'forward' }], rejected: [] });
    const joined = await findWorkflow(ben.repository, 'loop');
    expect(joined?.hash).toBe(newest);
    await fetchThreads(cleo.context, new DirectRemote(cleo.repository, ada.repository, 'ada'));
    expect(await findWorkflow(cleo.repository, 'loop')).toEqual(joined);
    await syncThreads(ada.context, ada.remote);
    expect(await findWorkflow(ada.repository, 'loop')).toEqual(joined);
    await registerWorkflow(ada.repository, { ...loop, description: 'theirs' });
    await syncThreads(ada.context, ada.remote);
    expect((await syncThreads(cleo.context, cleo.remote)).fetched.workflows).toMatchObject([{ change: 'forward' }]);
  });
});

async function writeBareCommit(repository: Pick<Repository, 'objects'>, parent: ObjectId): Promise<ObjectId> {
  const { ObjectBatch } = await import('../../src/git/object-batch.ts');
  const batch = new ObjectBatch();
  const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };
  const tree = batch.addTree([]);
  const id = batch.addCommit({ tree, parents: [parent], author: who, committer: who, message: 'nothing\n' });
  await (await repository.objects.write(batch.objects)).release();
  return id;
}
