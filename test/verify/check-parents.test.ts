import { describe, expect, test } from 'vitest';
import { type NodeHash, prepareHashing } from '../../src/cas/hash.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import type { ThreadCommit } from '../../src/thread/thread-commit.ts';
import { type CommitPlace, ThreadProgress } from '../../src/verify/thread-progress.ts';
import { checkParents } from '../../src/verify/check-commit.ts';
import { commitOf, faultsOf, hashOf, idOf } from './commit/plain-commits.ts';

await prepareHashing();

/** A thread of some commits after its start, which is number 1. */
function threadOf(...commits: ThreadCommit[]): ThreadProgress {
  const progress = new ThreadProgress(commitOf('start', 1));
  for (const commit of commits) progress.advance(commit);
  return progress;
}

const firstStep = commitOf('step', 2);
const suspension = commitOf('suspend', 3, { previous: hashOf(2) });

const place = (number: number, more: Partial<CommitPlace> = {}): CommitPlace => ({
  kind: 'end',
  hash: hashOf(number),
  number: undefined,
  start: { hash: hashOf(70), depth: 1, parentThread: hashOf(1), parentState: hashOf(1), parentRole: 'writer' },
  state: hashOf(71),
  stateAt: { commit: idOf(71), committedAtMs: 1_795_262_400_000 },
  ...more,
});

describe('the further parents of a commit', () => {
  const before = threadOf(firstStep);
  type Given = {
    before?: ThreadProgress;
    threads?: [ObjectId, CommitPlace][];
    linked?: NodeHash[];
  };
  const parentsOf = (commit: ThreadCommit, given: Given = {}): string[] =>
    faultsOf((report) =>
      checkParents(commit, given.before ?? before, new Map(given.threads), new Set(given.linked), [], report),
    );
  /** A step after the first one, with further parents. */
  const step = (node: Parameters<typeof commitOf<'step'>>[2], ...further: ObjectId[]): ThreadCommit =>
    commitOf('step', 4, { number: 2, ...node }, [idOf(2), ...further]);
  const ownStart = { hash: hashOf(1), depth: 0, parentThread: null, parentState: null, parentRole: null };
  const child = place(7, {
    start: { hash: hashOf(70), depth: 1, parentThread: hashOf(1), parentState: hashOf(2), parentRole: 'writer' },
  });
  const replaced = place(8, { kind: 'step', number: 2, start: ownStart });

  test('may be commits of threads that its nodes link to', () => {
    const other = place(9);
    expect(parentsOf(step({}, idOf(9)), { threads: [[idOf(9), other]], linked: [hashOf(9)] })).toEqual([]);
    expect(parentsOf(step({}, idOf(9)), { threads: [[idOf(9), other]] })).toEqual([
      `nothing accounts for its parent ${idOf(9)}`,
    ]);
    expect(parentsOf(step({}, idOf(9)), { linked: [hashOf(9)] })).toEqual([
      `nothing accounts for its parent ${idOf(9)}`,
    ]);
    // A commit of the same chain is reached anyway.
    const own = place(2, { kind: 'step', number: 1, start: ownStart });
    expect(parentsOf(step({}, idOf(2)), { threads: [[idOf(2), own]], linked: [hashOf(2)] })).toEqual([
      'it names a parent twice',
      `nothing accounts for its parent ${idOf(2)}`,
    ]);
  });

  test.each<[string, Partial<CommitPlace['start']>]>([
    ['thread', { parentThread: hashOf(9) }],
    ['state', { parentState: hashOf(1) }],
    ['role', { parentRole: 'checker' }],
  ])('are no children that another %s called', (_, start) => {
    const called = { ...child, start: { ...child.start, ...start } };
    expect(parentsOf(step({ childThreads: [hashOf(7)] }, idOf(7)), { threads: [[idOf(7), called]] })).toEqual([
      `step.json: its child thread ${hashOf(7)} was not called by writer from the state before it`,
    ]);
  });

  test.each<[string, Partial<CommitPlace>]>([
    ['is no step', { kind: 'end' }],
    ['has another number', { number: 3 }],
    ['is of another thread', { start: { ...ownStart, hash: hashOf(9) } }],
  ])('are no replaced step that %s', (_, more) => {
    const threads: [ObjectId, CommitPlace][] = [[idOf(8), { ...replaced, ...more }]];
    expect(parentsOf(step({ replaces: hashOf(8) }, idOf(8)), { threads })).toEqual([
      `step.json: the step ${hashOf(8)} that it replaces has another place`,
    ]);
  });

  describe('of a resume', () => {
    const resume = commitOf('resume', 6, { suspension: hashOf(5) }, [idOf(2), idOf(5)]);
    const ended = place(5, { start: ownStart, state: hashOf(2) });

    test('are the end that it goes on from', () => {
      expect(parentsOf(resume, { threads: [[idOf(5), ended]] })).toEqual([]);
      expect(parentsOf(commitOf('resume', 6, { suspension: hashOf(5) }, [idOf(2)]))).toEqual([
        `no parent of it is ${hashOf(5)}, which its node asks for`,
      ]);
    });

    test('are none where it answers a suspension', () => {
      const answered = threadOf(firstStep, suspension);
      expect(parentsOf(commitOf('resume', 6, {}, [idOf(3)]), { before: answered })).toEqual([]);
    });

    test('may be another commit that its answer links to', () => {
      const more = commitOf('resume', 6, {}, [idOf(3), idOf(9)]);
      const threads: [ObjectId, CommitPlace][] = [[idOf(9), place(9, { kind: 'step', number: 1 })]];
      expect(parentsOf(more, { before: threadOf(firstStep, suspension), threads, linked: [hashOf(9)] })).toEqual([]);
    });

    test.each<[string, Partial<CommitPlace>]>([
      ['thread', { start: { ...ownStart, hash: hashOf(9) } }],
      ['state', { state: hashOf(1) }],
    ])('are not the end of another %s', (_, more) => {
      expect(parentsOf(resume, { threads: [[idOf(5), { ...ended, ...more }]] })).toEqual([
        `the end ${hashOf(5)} that it goes on from is not the end of this thread`,
      ]);
    });
  });
});
