import { expect, test } from 'vitest';
import { endThread } from '../../../src/thread/thread-verbs.ts';
import { findArchivable } from '../../../src/thread/archive-threads.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { startLoop } from '../thread-fixture.ts';

const over = { outcome: 'completed', returnCode: 0, summary: 'Done.' } as const;

async function endedAt(repository: MapRepository, time: string): Promise<ThreadState> {
  const started = await startLoop(repository);
  return endThread({ ...repository, now: () => Date.parse(time) }, started, over);
}

const idsBefore = async (repository: MapRepository, time: string): Promise<string[]> =>
  (await findArchivable(repository, Date.parse(time))).map(({ id }) => id);

test('the threads to archive are those that ended before a time, to the second', async () => {
  const repository = createMapRepository();
  const early = await endedAt(repository, '2026-11-20T12:00:00Z');
  const late = await endedAt(repository, '2026-11-21T12:00:00Z');
  await startLoop(repository);
  expect(await idsBefore(repository, '2026-11-20T12:00:00Z')).toEqual([]);
  expect(await idsBefore(repository, '2026-11-20T12:00:01Z')).toEqual([early.id]);
  expect(await idsBefore(repository, '2026-11-21T00:00:00Z')).toEqual([early.id]);
  expect(await idsBefore(repository, '2026-11-21T12:00:00Z')).toEqual([early.id]);
  expect(await idsBefore(repository, '2026-11-21T12:00:01Z')).toEqual([early.id, late.id]);
  expect(await idsBefore(repository, '1970-01-01T00:00:00Z')).toEqual([]);
});

test('a thread that ended on a later day is not looked at, and one whose end cannot be read is left out', async () => {
  const repository = createMapRepository();
  const early = await endedAt(repository, '2026-11-20T12:00:00Z');
  const late = await endedAt(repository, '2026-11-22T12:00:00Z');
  const read: string[] = [];
  const objects: MapRepository['objects'] = {
    ...repository.objects,
    read: (id) => {
      read.push(id);
      return repository.objects.read(id);
    },
  };
  expect(await idsBefore({ ...repository, objects }, '2026-11-22T00:00:00Z')).toEqual([early.id]);
  expect(read).not.toContain(late.head.id);
  repository.objectMap.delete(early.head.id);
  expect(await idsBefore(repository, '2026-12-01T00:00:00Z')).toEqual([late.id]);
});

test('the search tells of its progress after every 5000 threads', async () => {
  const repository = createMapRepository();
  const ended = await endedAt(repository, '2026-11-20T12:00:00Z');
  const names = Array.from({ length: 5000 }, (_, at) => `01KTWEWZ76${String(at).padStart(16, '0')}`);
  const refs: MapRepository['refs'] = {
    ...repository.refs,
    list: async () => names.map((id) => ({ name: `refs/history/2026-11-20/${id}` as never, id: ended.head.id })),
  };
  const lines: string[] = [];
  const found = await findArchivable({ ...repository, refs }, Date.parse('2026-12-01'), (line) => lines.push(line));
  expect(found).toHaveLength(5000);
  expect(await findArchivable({ ...repository, refs }, Date.parse('2026-12-01'))).toEqual(found);
  expect(lines).toEqual(['looked at 5000 of 5000 ended threads']);
});
