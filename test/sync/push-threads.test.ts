import { describe, expect, test } from 'vitest';
import { readingContext } from '../../src/engine/engine-context.ts';
import { parseRefName } from '../../src/git/format/refs.ts';
import { readCommit } from '../../src/git/stores/read.ts';
import { fetchThreads } from '../../src/sync/fetch-threads.ts';
import { pushThreads, syncThreads } from '../../src/sync/push-threads.ts';
import { removeRemoteThread } from '../../src/sync/remove-remote-thread.ts';
import type { PushReport } from '../../src/sync/report.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { writeChain } from '../helpers/commit-chain.ts';
import { registerWorkflow } from '../../src/workflow/registry/find-workflow.ts';
import { readState } from '../../src/thread/thread-state.ts';
import { calledBy, loop, startLoop } from '../thread/thread-fixture.ts';
import { createPlaces, type Place, share, threadsOf } from './places.ts';

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
    // What is tracked of the remote has lost it as well.
    const tracked = (await ben.repository.refs.list('refs/uwf/remotes/')).map(({ name }) => name);
    expect(tracked).toEqual([expect.stringMatching(new RegExp(`^refs/uwf/remotes/[^/]+/history/.*/${id}$`))]);
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

  test('leaves a workflow whose ref there leads to a tree that is here, and sends all else', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await registerWorkflow(ben.repository, loop);
    const { head } = await share(ada, ben);
    const name = parseRefName('refs/workflows/loop');
    server.refMap.set(name, (await readCommit(ben.repository.objects, head.id)).tree);
    const { id } = await startLoop(ben.repository);
    const { fetched, pushed } = await syncThreads(ben.context, ben.remote);
    expect(fetched.refused).toMatchObject([{ ref: name }]);
    expect(pushed).toMatchObject({ threads: [{ thread: id, change: 'new' }], rejected: [{ ref: name }] });
  });

  test('of what the remote has got from elsewhere tells of no change', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await ada.do('append');
    const { ref, head } = await getThread(ada.repository, id);
    await ada.remote.push({ edits: [{ name: ref, value: head }] });
    expect(await pushThreads(ada.context, ada.remote)).toMatchObject({ threads: [], held: [] });
    expect((await ada.repository.refs.list('refs/uwf/remotes/')).map(({ id }) => id)).toContain(head);
  });

  test('says why a thread is held that the remote would take without another', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await share(ada, ben);
    for (let count = 0; count < 2; count += 1) await startLoop(ada.repository);
    const { remote } = ada;
    // As git: of an atomic push that the remote refuses in part, the rest is undone, however often it is tried.
    const push: typeof remote.push = async ({ edits }) =>
      edits.map(({ name }, at) =>
        at === 0 ? { name, outcome: 'refused', reason: 'not these' } : { name, outcome: 'undone', reason: '' },
      );
    const refusing = Object.assign(Object.create(remote) as typeof remote, { push });
    const { rejected, held } = await pushThreads(ada.context, refusing);
    expect(rejected).toMatchObject([{ reason: 'not these' }, { reason: 'not these' }]);
    expect(held).toEqual([]);
    for (let count = 0; count < 6; count += 1) await startLoop(ada.repository);
    const again = await pushThreads(ada.context, refusing);
    expect(again.rejected).toHaveLength(5);
    const reason = 'the remote refused another ref of the same push: not these';
    expect(again.held).toMatchObject([{ reason }, { reason }, { reason }]);
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

  test('of a named thread brings it back if the remote has lost its ref, and asks once where nothing is to be done', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    const other = await startLoop(ada.repository);
    await pushThreads(ada.context, ada.remote);
    let asked = 0;
    const list = ada.remote.list.bind(ada.remote);
    ada.remote.list = async (patterns) => ((asked += 1), list(patterns));
    const push = async (...threads: string[]): Promise<PushReport> =>
      pushThreads(ada.context, ada.remote, threads.length > 0 ? { threads } : {});

    expect(await push(id, other.id)).toMatchObject({ threads: [], held: [] });
    expect(asked).toBe(1);
    const { ref, head } = await getThread(ada.repository, id);
    await server.refs.update([{ name: ref, expected: head, value: null }]);
    expect(await push()).toMatchObject({ threads: [], held: [] });
    expect(asked).toBe(1);
    expect(await push(id, other.id)).toMatchObject({ threads: [{ thread: id, change: 'new', head }], held: [] });
    expect(asked).toBe(2);
    expect(await threadsOf(server)).toEqual(await ada.threads());

    // The remote has a step more, and so all that is here.
    await ben.do('append');
    await pushThreads(ben.context, ben.remote);
    expect(await push(id)).toMatchObject({ threads: [], held: [] });
    await ada.do('append', 1);
    await push(other.id);
    expect(asked).toBe(3);
  });

  test('of a named thread does not undo a removal that this clone has not seen', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    await removeRemoteThread(ben.context, ben.remote, id);
    const { threads, held } = await pushThreads(ada.context, ada.remote, { threads: [id] });
    expect(threads).toEqual([]);
    expect(held).toMatchObject([{ thread: id, reason: expect.stringContaining('it was removed at the remote') }]);
    expect(await threadsOf(server)).toEqual({});
  });

  test('of a child says that the steps of its caller go along', async () => {
    const { places } = createPlaces('Ada');
    const [ada] = places as [Place];
    const caller = await startLoop(ada.repository);
    await ada.do('append');
    const { head } = await getThread(ada.repository, caller.id);
    const child = await startLoop(ada.repository, calledBy(await readState(ada.repository, caller.id, head)));
    const { threads, alongside } = await pushThreads(ada.context, ada.remote, { threads: [child.id] });
    expect(threads).toMatchObject([{ thread: child.id, change: 'new' }]);
    expect(alongside).toEqual([caller.id]);
    expect((await pushThreads(ada.context, ada.remote)).alongside).toEqual([]);
  });

  /** Pushes, and counts the objects that it reads. */
  async function countReads({ repository, remote }: Place): Promise<{ report: PushReport; reads: number }> {
    let reads = 0;
    const { objects } = repository;
    const read: typeof objects.read = async (id, options) => ((reads += 1), objects.read(id, options));
    const report = await pushThreads(readingContext({ ...repository, objects: { ...objects, read } }), remote);
    return { report, reads };
  }

  test('reads what is new, however long the thread is', async () => {
    const { places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    await share(ada, ben);
    for (let step = 0; step < 60; step += 1) await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    await ada.do('append');
    const { report, reads } = await countReads(ada);
    expect(report.threads).toMatchObject([{ commits: 1 }]);
    expect(reads).toBeLessThan(20);
  });

  test('of a thread with a work tree of its own does not read the history of the code', async () => {
    const { server, places } = createPlaces('Ada');
    const [ada] = places as [Place];
    const messages = Array.from({ length: 300 }, (_, at) => `change ${at}`);
    const code = await writeChain(ada.repository, undefined, ...messages);
    await writeChain(server, undefined, ...messages);
    const base = code.at(-1)!;
    server.refMap.set(parseRefName('refs/heads/main'), base);
    await startLoop(ada.repository, { base });
    await ada.do('append');
    const { report, reads } = await countReads(ada);
    expect(report).toMatchObject({ threads: [{ change: 'new' }], held: [] });
    expect(reads).toBeLessThan(200);
  });

  test('of a fork reads what it does not share with what is there, however long that is', async () => {
    const { server, places } = createPlaces('Ada', 'Ben');
    const [ada, ben] = places as [Place, Place];
    const { id } = await share(ada, ben);
    for (let step = 0; step < 400; step += 1) await ada.do('append');
    await pushThreads(ada.context, ada.remote);
    await ada.do('fork');
    await ada.do('append', 1);
    const known = await countReads(ada);
    expect(known.report).toMatchObject({ threads: [{ change: 'new' }], held: [] });
    // What this machine remembers of the remote is not believed: a thread that was removed there is looked through again.
    server.refMap.clear();
    const fork = known.report.threads[0]!.thread;
    await ada.repository.refs.update(
      (await ada.repository.refs.list('refs/uwf/remotes/'))
        .filter(({ name }) => name.endsWith(fork))
        .map(({ name, id: expected }) => ({ name, expected, value: null })),
    );
    const unknown = await countReads(ada);
    expect(unknown.report.threads).toMatchObject([{ thread: fork, change: 'new' }]);
    expect(unknown.report.threads.map(({ thread }) => thread)).not.toContain(id);
    expect(unknown.reads).toBeGreaterThan(4 * 400);
    expect(known.reads).toBeLessThan(unknown.reads / 2);
  });
});
