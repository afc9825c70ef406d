import { expect, test } from 'vitest';
import type { Remote } from '../../src/git/transport/remote.ts';
import { selectRefs } from '../../src/sync/plan-fetch.ts';
import type { SyncOptions } from '../../src/sync/report.ts';

const id = (digit: number): string => `01KTWEWZ76000000000000000${digit}`;
const day = (text: string): number => Date.parse(text);

/** What is asked of a remote with a few refs, first for names and then for what they lead to. */
async function ask(options: SyncOptions): Promise<{ names: readonly string[]; refs: readonly string[] }> {
  const there = [
    `refs/threads/${id(1)}`,
    `refs/history/2026-11-20/${id(2)}`,
    `refs/history/2026-11-21/${id(3)}`,
    `refs/history/2026-11-22/${id(4)}`,
    `refs/uwf/removed/${id(3)}`,
    `refs/uwf/removed/${id(4)}`,
    'refs/workflows/loop',
  ];
  let names: readonly string[] = [];
  const remote = {
    name: 'origin',
    list: (patterns: readonly string[]) => {
      names = patterns;
      const refs = there.filter((name) => patterns.some((pattern) => name.startsWith(pattern.slice(0, -1))));
      return Promise.resolve(refs.map((name) => ({ name, id: '0'.repeat(40) })));
    },
    // Nothing else of it is used.
  } as unknown as Remote;
  const { refs } = await selectRefs(remote, options, false);
  return { names, refs };
}

test('by the day of their end, the names of those days alone are asked for', async () => {
  const { names, refs } = await ask({ endedSinceMs: day('2026-11-21T10:00Z'), endedUntilMs: day('2026-11-22') });
  expect(names.filter((name) => /threads|history/.test(name))).toEqual(['refs/history/2026-11-21/*']);
  expect(refs).toEqual([`refs/history/2026-11-21/${id(3)}`, `refs/uwf/removed/${id(3)}`, 'refs/workflows/loop']);
});

test.each([
  [{ endedSinceMs: day('2026-11-21') }, [3, 4]],
  [{ endedUntilMs: day('2026-11-21T00:01Z') }, [2, 3]],
  [{ endedUntilMs: day('2026-11-21') }, [2]],
  [{ endedSinceMs: day('2000-01-01'), endedUntilMs: day('2030-01-01') }, [2, 3, 4]],
  [{ endedSinceMs: day('2026-11-22'), endedUntilMs: day('2026-11-21') }, []],
])('%j', async (options, expected) => {
  const { refs } = await ask(options);
  expect(refs.filter((name) => name.startsWith('refs/history/')).map((name) => Number(name.slice(-1)))).toEqual(
    expected,
  );
  expect(refs.filter((name) => name.startsWith('refs/threads/'))).toEqual([]);
});
