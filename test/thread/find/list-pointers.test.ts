import { expect, test } from 'vitest';
import { listPointers } from '../../../src/thread/find-thread.ts';
import { parseThreadId, threadTimeMs, timePrefix } from '../../../src/thread/thread-id.ts';
import { createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { startLoop } from '../thread-fixture.ts';

const idAt = (iso: string): string => `${timePrefix(Date.parse(iso))}0000000000000000`;

test('the threads since a time are those that began then, and those that ended', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const { head, id } = await startLoop(repository);
  const since = '2026-11-21T12:00:00.500Z';
  const ids = {
    active: { before: idAt('2026-11-21T12:00:00.499Z'), at: idAt(since), later: idAt('2026-11-22T01:00:00Z') },
    history: {
      '2026-11-19': idAt('2026-11-18T00:00:00Z'),
      '2026-11-21': idAt('2026-11-18T00:00:01Z'),
      '2026-11-22': idAt('2026-11-21T13:00:00Z'),
    },
  };
  for (const each of Object.values(ids.active)) temporary.git('update-ref', `refs/threads/${each}`, head.id);
  for (const [day, each] of Object.entries(ids.history))
    temporary.git('update-ref', `refs/history/${day}/${each}`, head.id);
  const { active, history } = ids;
  const expected = [history['2026-11-21'], active.at, history['2026-11-22'], active.later, id].toSorted();
  for (let round = 0; round < 2; round += 1) {
    const found = await listPointers(await temporary.open(), undefined, { sinceMs: Date.parse(since) });
    expect(found.map((pointer) => pointer.id)).toEqual(expected);
    expect(await listPointers(await temporary.open())).toHaveLength(7);
    temporary.git('pack-refs', '--all');
  }
});

test('the time in an id is written as it is read', () => {
  for (const timeMs of [0, 1, 31, 32, 1_795_262_400_000, 2 ** 48 - 1]) {
    expect(threadTimeMs(parseThreadId(`${timePrefix(timeMs)}${'0'.repeat(16)}`))).toBe(timeMs);
  }
});
