import { expect, test } from 'vitest';
import { prepareHashing } from '../../../src/cas/hash.ts';
import { activeRef } from '../../../src/thread/thread-id.ts';
import { newThreadId } from '../../../src/thread/new-thread-id.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { checkAll, refusals, type Reads } from './incoming-fixture.ts';
import { grow, startWith } from './looping-thread.ts';

await prepareHashing();

const textOf = (number: number): string => `Text ${number}.`;

test('a check tells how far it is, and stops when it is asked to', async () => {
  const remote = createMapRepository();
  const { id } = await grow(remote, await startWith(remote, 'true'), 600, textOf);
  const told: string[] = [];
  const faults = await checkAll(remote, { onProgress: (line) => void told.push(line) });
  expect(refusals(faults)).toEqual({});
  expect(told).toEqual(['checked 250 of 601 commits', 'checked 500 of 601 commits']);
  const stop = new AbortController();
  // Not even an error that would be a fault of the thread, were it not the reason to stop, is one.
  const stopped = checkAll(remote, { signal: stop.signal, onProgress: () => stop.abort(new Error('enough')) });
  await expect(stopped).rejects.toThrow('enough');
  const reads: Reads = new Map();
  await expect(checkAll(remote, { reads, signal: AbortSignal.abort(new Error('at once')) })).rejects.toThrow('at once');
  expect(reads.has(remote.refMap.get(activeRef(id))!)).toBe(false);
});

test('a thread with too many new commits is refused, until a fork of an earlier step is here', async () => {
  const remote = createMapRepository();
  const early = await grow(remote, await startWith(remote, 'true'), 20, textOf);
  const fork = activeRef(newThreadId(remote));
  const { id } = await grow(remote, early, 20, textOf);
  const limits = { maxCommits: 30 };
  expect(refusals(await checkAll(remote, { limits }))).toEqual({
    [activeRef(id)]: expect.stringMatching(/more than 30 new commits after it; fetch a fork of an earlier step first/),
  });
  const local = createMapRepository(new Map(), new Map([[fork, early.head.id]]));
  for (const [oid, object] of remote.objectMap) local.objectMap.set(oid, object);
  expect(refusals(await checkAll(remote, { local, limits }))).toEqual({});
});

test('a thread with too many nodes is refused', async () => {
  const remote = createMapRepository();
  const { id } = await grow(remote, await startWith(remote, 'true'), 100, textOf);
  expect(refusals(await checkAll(remote, { limits: { maxNodes: 200 } }))).toEqual({
    [activeRef(id)]: expect.stringMatching(/it has more than 200 nodes/),
  });
});
