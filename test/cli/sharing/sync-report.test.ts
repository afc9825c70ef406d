import { describe, expect, test } from 'vitest';
import { createPalette } from '../../../src/cli/output/text.ts';
import { formatFetch, formatPush, formatSync } from '../../../src/cli/sharing/sync-report.ts';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import type { FetchReport, PushReport } from '../../../src/sync/report.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';
import { emptyReport } from '../../../src/sync/push-threads.ts';

const paint = createPalette({}, {});
const thread = (digit: number): ReturnType<typeof parseThreadId> => parseThreadId(`01KTWEWZ76000000000000000${digit}`);
const commit = (digit: string): ReturnType<typeof parseObjectId> => parseObjectId(digit.repeat(40));

const about = (): undefined => undefined;
const url = 'https://example.org/threads.git';
const nothingPushed = emptyReport({ name: 'origin', url });
const nothingFetched: FetchReport = { remote: 'origin', url, threads: [], workflows: [], refused: [], held: [] };

describe('a push', () => {
  test('is told with what became visible where, a line for each ref', () => {
    const text = formatPush(
      {
        ...nothingPushed,
        threads: [
          { thread: thread(1), change: 'new', head: commit('a'), before: null, commits: 5 },
          { thread: thread(2), change: 'forward', head: commit('b'), before: commit('c'), commits: 1 },
          { thread: thread(3), change: 'ended', head: commit('d'), before: commit('e') },
        ],
        workflows: [{ workflow: 'develop', change: 'new', head: commit('f'), before: null }],
        alongside: [thread(4)],
        rejected: [{ ref: `refs/threads/${thread(5)}`, reason: 'a hook declined' }],
        held: [{ thread: thread(6), reason: 'fetch first' }],
      },
      paint,
      { about: (id) => (id === thread(1) ? { workflow: 'fix', prompt: 'The \u001B[1msum' } : undefined) },
    );
    expect(text.split('\n')).toEqual([
      `pushed to ${url}: 3 threads (1 new, 1 forward, 1 ended), 1 workflow`,
      ` * [new thread]       ${thread(1)}  fix  The �[1msum`,
      `   ccccccc..bbbbbbb   ${thread(2)}  (1 commit)`,
      `   eeeeeee..ddddddd   ${thread(3)}  (ended)`,
      ' * [new workflow]     develop',
      ` + [goes along]       ${thread(4)}  (its commits are seen there too)`,
      ` ! [rejected]         refs/threads/${thread(5)}  (a hook declined)`,
      ` ? [held]             ${thread(6)}  (fetch first)`,
      'anyone who can read that repository can read them',
    ]);
  });

  test('that changed nothing says so, and says no more than it knows', () => {
    expect(formatPush(nothingPushed, paint, { about })).toBe(
      `nothing to push to ${url}: it had everything when it was last seen`,
    );
    const held = { ...nothingPushed, held: [{ thread: thread(1), reason: 'fetch first' }] };
    expect(formatPush(held, paint, { about }).split('\n')[0]).toBe(`nothing was pushed to ${url}`);
  });

  test('that did not take place is told as one that would', () => {
    const report: PushReport = {
      ...nothingPushed,
      threads: [{ thread: thread(1), change: 'new', head: commit('a'), before: null }],
    };
    expect(formatPush(report, paint, { about, isDry: true })).toBe(
      `would push to ${url}: 1 thread (1 new)\n * [new thread]       ${thread(1)}\nanyone who can read that repository could read them then`,
    );
    expect(formatPush(nothingPushed, paint, { about, isDry: true })).toBe(formatPush(nothingPushed, paint, { about }));
    expect(formatPush(nothingPushed, paint, { about, isAsked: true })).toBe(
      `nothing to push to ${url}: its refs are up to date`,
    );
  });
});

describe('a fetch', () => {
  test('is told with what became of each thread', () => {
    const text = formatFetch(
      {
        ...nothingFetched,
        threads: [
          { thread: thread(1), change: 'new', head: commit('a'), before: null },
          { thread: thread(2), change: 'forked', head: commit('b'), before: null, of: thread(1) },
          { thread: thread(3), change: 'removed', head: null, before: commit('c') },
        ],
        workflows: [{ workflow: 'develop', change: 'joined', head: commit('1'), before: commit('2') }],
        refused: [{ ref: 'refs/threads/x', reason: 'its name is no thread id', more: 99_998 }],
      },
      paint,
      about,
    );
    expect(text.split('\n')).toEqual([
      `fetched from ${url}: 3 threads (1 new, 1 forked, 1 removed), 1 workflow`,
      ` * [new thread]       ${thread(1)}`,
      ` * [new fork]         ${thread(2)}  (keeps what ${thread(1)} could not take in)`,
      ` - [removed]          ${thread(3)}`,
      '   2222222..1111111   develop  (joined with what was there)',
      ' ! [refused]          refs/threads/x  (its name is no thread id, and 99,998 more like it)',
    ]);
  });

  test('cannot be made to write to the terminal by what it brings', () => {
    const refused = [{ ref: 'refs/threads/\u001B[2Jx\ny', reason: '\u001B]0;title\u0007' }];
    const text = formatFetch({ ...nothingFetched, url: 'ssh://\u001B[31m', refused }, paint, about);
    expect(text).not.toContain('\u001B');
    expect(text.split('\n')).toHaveLength(2);
  });
});

test('a sync that had nothing to do takes one line', () => {
  expect(formatSync({ fetched: nothingFetched, pushed: nothingPushed }, paint, { about })).toBe(
    `nothing to fetch from ${url}, and nothing to push`,
  );
});
