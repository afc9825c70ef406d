import { describe, expect, test } from 'vitest';
import { parseRefName } from '../../src/git/format/refs.ts';
import {
  activeRef,
  dayOfEnd,
  endedBetween,
  historyRef,
  parseThreadId,
  PINS_REF,
  REMOTES_PREFIX,
  scratchRef,
  threadOfRef,
  utcDate,
} from '../../src/thread/thread-id.ts';

const id = parseThreadId('01KTWEWZ76000000000000000A');
const noon = Date.parse('2026-11-21T12:00:00Z');
const midnight = Date.parse('2026-11-22T00:00:00Z');

test('the refs of threads are where the format says', () => {
  expect(activeRef(id)).toBe(`refs/threads/${id}`);
  expect(historyRef(id, midnight - 1)).toBe(`refs/history/2026-11-21/${id}`);
  expect(historyRef(id, midnight)).toBe(`refs/history/2026-11-22/${id}`);
  expect(scratchRef(id)).toBe(`refs/uwf/scratch/${id}`);
  expect([PINS_REF, REMOTES_PREFIX]).toEqual(['refs/uwf/pins', 'refs/uwf/remotes/']);
});

test.each<[string, { id: string; isHistory: boolean } | undefined]>([
  [`refs/threads/${id}`, { id, isHistory: false }],
  [`refs/history/2026-11-21/${id}`, { id, isHistory: true }],
  [`refs/history/${id}`, { id, isHistory: true }],
  [`refs/threads/2026-11-21/${id}`, undefined],
  [`refs/history/2026-11-21/2026-11-21/${id}`, undefined],
  [`refs/history/${id.slice(0, 4)}2026-11-21/${id.slice(4)}`, undefined],
  [`refs/threads/${id}/x`, undefined],
  ['refs/threads/main', undefined],
  [`refs/heads/${id}`, undefined],
  ['refs/heads/main', undefined],
])('the thread of %s', (ref, thread) => {
  expect(threadOfRef(parseRefName(ref))).toEqual(thread);
});

describe('the day of an end', () => {
  test('is that in the name of its ref, in UTC', () => {
    expect(dayOfEnd(historyRef(id, noon))).toBe('2026-11-21');
    expect(utcDate(midnight - 1)).toBe('2026-11-21');
  });

  const days = ['2026-11-20', '2026-11-21', '2026-11-22'];

  test.each<[string, number | undefined, number | undefined, string[]]>([
    ['no bounds', undefined, undefined, days],
    ['a time on it', noon, undefined, days.slice(1)],
    ['a time on it as the end', undefined, noon, days.slice(0, 2)],
    ['the end of it', undefined, midnight, days.slice(0, 2)],
    ['the first moment of the next one', undefined, midnight + 1, days],
    ['two times on it', noon, noon + 1, ['2026-11-21']],
    ['bounds that leave no time', midnight, midnight, []],
  ])('is judged by %s', (_, sinceMs, untilMs, expected) => {
    expect(days.filter(endedBetween(sinceMs, untilMs))).toEqual(expected);
  });
});
