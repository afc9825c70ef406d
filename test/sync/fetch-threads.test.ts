import { describe, expect, test } from 'vitest';
import { takeLease } from '../../src/engine/leases/lease.ts';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import type { Repository } from '../../src/git/repository.ts';
import { readCommit } from '../../src/git/stores/read.ts';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../src/sync/push-threads.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { findWorkflow, registerWorkflow } from '../../src/workflow/registry/find-workflow.ts';
import { DirectRemote } from '../helpers/direct-remote.ts';
import { loop, startLoop } from '../thread/thread-fixture.ts';
import { createPlaces, pass, type Place, share, threadsOf } from './places.ts';

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

  test('does not take a thread for a workflow, nor a workflow for a thread, though it knows both', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await registerWorkflow(ada.repository, loop);
    const { id } = await share(ada, ben);
    const registration = server.refMap.get(parseRefName('refs/workflows/loop')) as ObjectId;
    const { head } = await getThread(ada.repository, id);
    server.refMap.set(parseRefName('refs/workflows/loop'), head);
    server.refMap.set(parseRefName('refs/workflows/other'), head);
    server.refMap.set(parseRefName('refs/threads/01KAM4Z0000000000000000000'), registration);
    const { threads, workflows, refused } = await fetchThreads(ben.context, ben.remote);
    expect([threads, workflows]).toEqual([[], []]);
    expect(refused.map(({ ref }) => ref).toSorted()).toEqual([
      'refs/threads/01KAM4Z0000000000000000000',
      'refs/workflows/loop',
      'refs/workflows/other',
    ]);
    expect((await findWorkflow(ben.repository, 'loop'))?.commit).toBe(registration);
  });

  test('leaves a workflow whose versions here are damaged, and fetches all else', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await registerWorkflow(ada.repository, loop);
    await registerWorkflow(ada.repository, { ...loop, description: 'second' });
    await share(ada, ben);
    const known = await findWorkflow(ben.repository, 'loop');
    await registerWorkflow(ada.repository, { ...loop, description: 'third' });
    const { id } = await startLoop(ada.repository);
    await pushThreads(ada.context, ada.remote);
    const { read } = ben.repository.objects;
    const first = (await readCommit(ben.repository.objects, known!.commit)).parents[0];
    ben.repository.objects.read = async (one, options) => (one === first ? undefined : read(one, options));
    const { threads, refused } = await fetchThreads(ben.context, ben.remote);
    expect(threads).toMatchObject([{ thread: id, change: 'new' }]);
    expect(refused).toMatchObject([{ ref: 'refs/workflows/loop' }]);
    expect((await findWorkflow(ben.repository, 'loop'))?.commit).toBe(known!.commit);
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
    pass(40 * 86_400_000);
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
    await fetchThreads(cleo.context, remote, { sinceMs: pass(0) - 86_400_000 });
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
  const batch = new ObjectBatch();
  const who = { name: 'A U Thor', email: 'author@example.com', atMs: 1_795_262_400_000 };
  const tree = batch.addTree([]);
  const id = batch.addCommit({ tree, parents: [parent], author: who, committer: who, message: 'nothing\n' });
  await (await repository.objects.write(batch.objects)).release();
  return id;
}
