import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { type OfferSides, offerThread } from '../../src/sync/offer-threads.ts';
import {
  type ForkClaim,
  type Lineage,
  reconcileThread,
  type Relation,
  type ThreadSides,
} from '../../src/sync/reconcile-thread.ts';
import type { Tip } from '../../src/sync/shared-refs.ts';
import { parseThreadId, type ThreadId } from '../../src/thread/thread-id.ts';

const thread = parseThreadId('01KAM4Z0000000000000000000');
const fork = parseThreadId('01KAM4Z00000000000000000FF');

/** Commits are words here: one is behind another if it is how that begins. `abc!21` ended on the 21st. */
function tips(words: string): Tip[] {
  return words.split(' ').flatMap((word): Tip[] => {
    const [id = '', day] = word.split('!');
    // A word stands for a commit.
    return id === '' ? [] : [{ id: id as ObjectId, endedOn: day === undefined ? undefined : `2026-11-${day}` }];
  });
}

const relate = async (one: ObjectId, other: ObjectId): Promise<Relation> => {
  if (one === other) return { kind: 'same' };
  if (other.startsWith(one)) return { kind: 'behind', by: other.length - one.length };
  return one.startsWith(other) ? { kind: 'ahead', by: one.length - other.length } : { kind: 'diverged' };
};
// The tip is the last letter of the fork's name.
const forkId = async (_: ThreadId, tip: ObjectId): Promise<ThreadId> =>
  parseThreadId(fork.slice(0, -1) + (tip.at(-1) ?? '').toUpperCase());
const lineage: Lineage = { relate, forkId };

type Case = Partial<Omit<ThreadSides, 'here' | 'there' | 'seen' | 'claims'>> & {
  here?: string;
  there?: string;
  seen?: string;
  claims?: ForkClaim[];
};

/** What comes of it, a word for each edit: `+name=value`, `name:before=after`, `-name=before`. */
async function outcome({ here = '', there = '', seen = '', claims = [], ...flags }: Case): Promise<string[]> {
  const result = await reconcileThread(
    {
      thread,
      here: tips(here),
      there: tips(there),
      seen: tips(seen),
      claims,
      isRemovedHere: false,
      isRemovedThere: false,
      isNamed: false,
      isRunning: false,
      ...flags,
    },
    lineage,
  );
  const edits = result.edits.map(({ name, expected, value }) => {
    const short = name.replace('refs/', '').replace(`/${thread}`, '').replace('2026-11-', '');
    if (expected === null) return `+${short}=${value}`;
    return value === null ? `-${short}=${expected}` : `${short}:${expected}=${value}`;
  });
  const forks = result.claims.map(
    ({ fork: id, tip, isOurs }) =>
      `fork ${id.slice(-1)} of ${isOurs ? 'ours' : 'theirs'}${tip.endedOn ? ', ended' : ''}`,
  );
  return [
    ...edits,
    ...forks,
    ...(result.change ? [`${result.change.change}${result.change.commits ? ` ${result.change.commits}` : ''}`] : []),
    ...(result.held === undefined ? [] : ['held']),
  ];
}

describe('here, after a fetch', () => {
  test.each<[what: string, given: Case, expected: string[]]>([
    ['a thread that is not here appears', { there: 'ab' }, ['+threads=ab', 'new']],
    ['an ended one appears as ended', { there: 'ab!21' }, ['+history/21=ab', 'new']],
    ['one that is behind moves forward', { here: 'a', there: 'abc' }, ['threads:a=abc', 'forward 2']],
    ['one that is ahead stays', { here: 'abc', there: 'a' }, []],
    ['the same is the same', { here: 'abc!21', there: 'abc!21' }, []],
    [
      'of two that diverged ours is the fork',
      { here: 'ab', there: 'ac' },
      ['threads:ab=ac', 'fork B of ours', 'forward'],
    ],
    ['one that ended there ends', { here: 'a', there: 'ab!21' }, ['+history/21=ab', '-threads=a', 'ended 1']],
    [
      'one that ended there, and went on here, ends and goes on as a fork',
      { here: 'ac', there: 'ab!21' },
      ['+history/21=ab', '-threads=ac', 'fork C of ours', 'ended'],
    ],
    ['one that ended here stays ended', { here: 'ab!21', there: 'a' }, []],
    ['one that ended here, and went on there, goes on as a fork', { here: 'ab!21', there: 'ac' }, ['fork C of theirs']],
    [
      'of two ends theirs counts, and ours is that of the fork',
      { here: 'ab!21', there: 'ac!22' },
      ['+history/22=ac', '-history/21=ab', 'fork B of ours, ended', 'forward'],
    ],
    [
      'of two ends on one day as well',
      { here: 'ab!21', there: 'ac!21' },
      ['history/21:ab=ac', 'fork B of ours, ended', 'forward'],
    ],
    [
      'of two ends there the first counts',
      { there: 'ab!21 ac!22' },
      ['+history/21=ab', 'fork C of theirs, ended', 'new'],
    ],
    ['what was pushed back after the end is nothing', { here: 'ab!21', there: 'ab!21 a' }, []],
    ['an ending that was cut in two is finished', { here: 'ab!21 a' }, ['-threads=a']],
    [
      'and what does not lie on the way to it is kept',
      { here: 'ab!21 ac', there: 'ab!21' },
      ['-threads=ac', 'fork C of ours'],
    ],
    [
      'an end here gives way where the remote wins, and is kept',
      { here: 'ab!21', there: 'ac', remoteWins: true },
      ['+threads=ac', '-history/21=ab', 'fork B of ours, ended', 'forward'],
    ],
    ['an end here that follows what is there does not', { here: 'ab!21', there: 'a', remoteWins: true }, []],
    [
      'an end there counts all the same',
      { here: 'ab', there: 'ac!22', remoteWins: true },
      ['+history/22=ac', '-threads=ab', 'fork B of ours', 'ended'],
    ],
    ['one that was removed here stays away', { there: 'ab', isRemovedHere: true }, []],
    ['until it is asked for', { there: 'ab', isRemovedHere: true, isNamed: true }, ['+threads=ab', 'new']],
    [
      'that it was removed here once is nothing if it is here',
      { here: 'a', there: 'ab', isRemovedHere: true },
      ['threads:a=ab', 'forward 1'],
    ],
    [
      'one that was removed there goes, if all of it had been there',
      { here: 'ab', seen: 'abc', isRemovedThere: true },
      ['-threads=ab', 'removed'],
    ],
    ['and stays if not', { here: 'abc', seen: 'ab', isRemovedThere: true }, ['held']],
    ['or if it was never seen there', { here: 'a', isRemovedThere: true }, ['held']],
    ['one that is not here and was removed there does not appear', { there: 'ab', isRemovedThere: true }, []],
    ['one that is being worked on is not moved', { here: 'a', there: 'ab', isRunning: true }, ['held']],
    ['nor removed', { here: 'a', seen: 'a', isRemovedThere: true, isRunning: true }, ['held']],
    ['and one that need not move is not held', { here: 'ab', there: 'a', isRunning: true }, []],
  ])('%s', async (_, given, expected) => {
    expect(await outcome(given)).toEqual(expected);
  });

  const claim = (tip: string, isOurs: boolean): ForkClaim => ({
    fork: thread,
    tip: tips(tip)[0] as Tip,
    of: fork,
    isOurs,
  });

  test.each<[what: string, given: Case, expected: string[]]>([
    ['a fork that is not here is made', { claims: [claim('ab', true)] }, ['+threads=ab', 'forked']],
    ['one of an end is over', { claims: [claim('ab!21', true)] }, ['+history/21=ab', 'forked']],
    ['one that is here, and has gone on, is left alone', { here: 'abc', claims: [claim('ab', true)] }, []],
    [
      'one that the remote has too begins where it is there',
      { there: 'abc', claims: [claim('ab', true)] },
      ['+threads=abc', 'new'],
    ],
    [
      'what is ours is kept though it was removed here',
      { claims: [claim('ab', true)], isRemovedHere: true },
      ['+threads=ab', 'forked'],
    ],
    ['or there', { claims: [claim('ab', true)], isRemovedThere: true }, ['+threads=ab', 'forked']],
    ['what is theirs is not', { claims: [claim('ab', false)], isRemovedHere: true }, []],
  ])('of forks: %s', async (_, given, expected) => {
    const of = given.claims?.[0]?.of;
    expect(of).toBe(fork);
    expect(await outcome(given)).toEqual(expected);
  });
});

describe('there, by a push', () => {
  async function offer(
    here: string,
    there: string,
    flags: Pick<OfferSides, 'removed'> & { unknown?: string } = {},
  ): Promise<string[]> {
    const { unknown, ...sides } = flags;
    const result = await offerThread(
      { thread, here: tips(here)[0] as Tip, there: tips(there), ...sides },
      { relate: async (theirs, ours) => (theirs === unknown ? undefined : relate(theirs, ours)), forkId },
    );
    const edits = result.edits.map(({ name, expected, value }) => {
      const short = name.replace('refs/', '').replace(`/${thread}`, '').replace('2026-11-', '');
      return `${short}:${expected ?? ''}=${value ?? ''}`;
    });
    const needs = result.needs.map((id) => `needs ${id.slice(-1)}`);
    const { head, before } = result.change ?? {};
    const told = result.change !== undefined && head === before ? ['forward by nothing'] : [];
    return [...edits, ...needs, ...told, ...(result.held === undefined ? [] : ['held'])];
  }

  test.each<[what: string, here: string, there: string, expected: string[]]>([
    ['a thread that is not there appears', 'ab', '', ['threads:=ab']],
    ['an ended one appears as ended', 'ab!21', '', ['history/21:=ab']],
    ['one that is behind there moves forward', 'abc', 'a', ['threads:a=abc']],
    ['one that is ahead there is left alone', 'a', 'abc', []],
    ['one that has ended there too', 'a', 'abc!21', []],
    ['one that diverged waits for a fetch', 'ab', 'ac', ['held']],
    ['one that ended there, and went on here, as well', 'ab', 'ac!21', ['held']],
    ['an end takes the active ref away', 'abc!21', 'ab', ['history/21:=abc', 'threads:ab=']],
    ['an end that is there already does so as well', 'abc!21', 'abc!21 ab', ['history/21:abc=abc', 'threads:ab=']],
    ['what went on there is kept by its fork', 'ab!21', 'ac', ['history/21:=ab', 'threads:ac=', 'needs C']],
    ['as is the later of two ends', 'ab!21', 'ab!21 ac!22', ['history/21:ab=ab', 'history/22:ac=', 'needs C']],
    ['an earlier end than ours waits for a fetch', 'ab!22', 'ac!21', ['held']],
    ['another end of the same day as well', 'ab!21', 'ac!21', ['held']],
  ])('%s', async (_, here, there, expected) => {
    expect(await offer(here, there)).toEqual(expected);
  });

  test('what nobody here has seen is not touched', async () => {
    expect(await offer('ab', 'x', { unknown: 'x' })).toEqual(['held']);
    expect(await offer('ab!21', 'x', { unknown: 'x' })).toEqual(['held']);
    expect(await offer('ab', 'x!21', { unknown: 'x' })).toEqual(['held']);
  });

  test('one that was removed there, or redacted here, does not come back', async () => {
    expect(await offer('ab', '', { removed: 'removed at the remote' })).toEqual(['held']);
    expect(await offer('ab', 'a', { removed: 'redacted here' })).toEqual(['held']);
  });
});
