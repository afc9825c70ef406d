import { describe, expect, test } from 'vitest';
import { encodeNode, type StoredNode } from '../../src/cas/node.ts';
import { type NodeHash, prepareHashing } from '../../src/cas/hash.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { builtIn } from '../../src/schema/built-in.ts';
import type { ThreadCommit } from '../../src/thread/thread-commit.ts';
import { callIdFor } from '../../src/thread/new-thread-id.ts';
import { parseThreadId } from '../../src/thread/thread-id.ts';
import { type CommitPlace, ThreadProgress } from '../../src/verify/thread-progress.ts';
import { codeCommits } from '../../src/verify/check-form.ts';
import { checkCaller, checkOrder, checkParents } from '../../src/verify/check-commit.ts';
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
const secondStep = commitOf('step', 4, { number: 2, previous: hashOf(2), ancestors: [hashOf(2)] });
const end = commitOf('end', 5, { lastStep: hashOf(2) });

const orderOf = (commit: ThreadCommit, before: ThreadProgress): string[] =>
  faultsOf((report) => checkOrder(commit, before, report));

describe('the order of a commit', () => {
  test.each<[string, ThreadCommit, ThreadProgress]>([
    ['a start', commitOf('start', 1), threadOf()],
    ['a first step', firstStep, threadOf()],
    ['a second step', secondStep, threadOf(firstStep)],
    ['a suspension before any step', commitOf('suspend', 3), threadOf()],
    ['a suspension after a step', suspension, threadOf(firstStep)],
    ['an answer to a suspension', commitOf('resume', 6), threadOf(firstStep, suspension)],
    ['an end after a suspension', end, threadOf(firstStep, suspension)],
    ['an end before any step', commitOf('end', 5), threadOf()],
    ['an end that failed', commitOf('end', 5, { outcome: 'failed', returnCode: 1 }), threadOf()],
    ['a step after a suspension that was answered', secondStep, threadOf(firstStep, suspension, commitOf('resume', 6))],
    ['an answer to an end, which is checked as a parent', commitOf('resume', 6), threadOf(firstStep)],
  ])('is right: %s', (_, commit, before) => {
    expect(orderOf(commit, before)).toEqual([]);
  });

  test('names at most eleven steps before, the newest first', () => {
    const before = threadOf();
    for (let number = 1; number <= 13; number++) {
      const ancestors = Array.from({ length: Math.min(number - 1, 11) }, (_, at) => hashOf(100 + number - 1 - at));
      const step = commitOf('step', 100 + number, { number, previous: ancestors[0] ?? null, ancestors });
      expect(orderOf(step, before)).toEqual([]);
      before.advance(step);
    }
    const twelve = Array.from({ length: 12 }, (_, at) => hashOf(113 - at));
    const step = commitOf('step', 114, { number: 14, previous: hashOf(113), ancestors: twelve });
    expect(orderOf(step, before)).toEqual([expect.stringMatching(/^step.json: ancestors is /)]);
  });

  const wanted = (field: string, is: unknown, has: unknown): string =>
    `${field} is ${String(is)}, by the commits before it has to be ${String(has)}`;

  test.each<[ThreadCommit, ThreadProgress, string[]]>([
    [commitOf('step', 2, { start: hashOf(9) }), threadOf(), [`step.json: ${wanted('start', hashOf(9), hashOf(1))}`]],
    [commitOf('end', 2, { start: hashOf(9) }), threadOf(), [`end.json: ${wanted('start', hashOf(9), hashOf(1))}`]],
    [commitOf('step', 2, { number: 2 }), threadOf(), [`step.json: ${wanted('number', 2, 1)}`]],
    [commitOf('step', 2, { previous: hashOf(1) }), threadOf(), [`step.json: ${wanted('previous', hashOf(1), null)}`]],
    [
      commitOf('step', 4, { number: 2, previous: hashOf(2) }),
      threadOf(firstStep),
      [`step.json: ${wanted('ancestors', '', hashOf(2))}`],
    ],
    [commitOf('step', 4, { ancestors: [hashOf(2)] }), threadOf(), [`step.json: ${wanted('ancestors', hashOf(2), '')}`]],
    [
      commitOf('step', 2, { childThreads: [hashOf(7), hashOf(7)] }),
      threadOf(),
      ['step.json: it names a child thread twice'],
    ],
    [commitOf('suspend', 3), threadOf(firstStep), [`suspend.json: ${wanted('previous', null, hashOf(2))}`]],
    [
      commitOf('suspend', 3, { previous: hashOf(2) }),
      threadOf(),
      [`suspend.json: ${wanted('previous', hashOf(2), null)}`],
    ],
    [
      commitOf('resume', 6, { suspension: hashOf(2) }),
      threadOf(firstStep, suspension),
      [`resume.json: ${wanted('suspension', hashOf(2), hashOf(3))}`],
    ],
    [commitOf('end', 5), threadOf(firstStep), [`end.json: ${wanted('lastStep', null, hashOf(2))}`]],
    [end, threadOf(), [`end.json: ${wanted('lastStep', hashOf(2), null)}`]],
    [commitOf('end', 5, { returnCode: 1 }), threadOf(), [`end.json: ${wanted('returnCode 0', false, true)}`]],
    [commitOf('end', 5, { outcome: 'failed' }), threadOf(), [`end.json: ${wanted('returnCode 0', true, false)}`]],
    [secondStep, threadOf(firstStep, suspension), ['it stands on a suspension that was not resumed']],
    [suspension, threadOf(firstStep, suspension), ['it stands on a suspension that was not resumed']],
    [secondStep, threadOf(firstStep, end), ['it stands on the end of its thread']],
    [commitOf('resume', 6), threadOf(firstStep, end), ['it stands on the end of its thread']],
  ])('is wrong: %#', (commit, before, faults) => {
    expect(orderOf(commit, before)).toEqual(faults);
  });
});

const place = (number: number, more: Partial<CommitPlace> = {}): CommitPlace => ({
  kind: 'end',
  hash: hashOf(number),
  number: undefined,
  start: { hash: hashOf(70), depth: 1, parentThread: hashOf(1), parentState: hashOf(1), parentRole: 'writer' },
  state: hashOf(71),
  stateAt: { commit: idOf(71), committedAtMs: 1_795_262_400_000 },
  ...more,
});

describe('the caller of a thread', () => {
  const caller = place(70);
  const uncalled = { parentThread: hashOf(70), parentState: hashOf(71), parentRole: 'writer', depth: 2 };
  const thread = parseThreadId('01KTWEWZ760000000000000001');
  const callOf = (ordinal: number): string =>
    callIdFor({ state: caller.stateAt, role: 'writer', thread, key: 'a', ordinal });
  const called = { ...uncalled, id: callOf(0), call: { thread, key: 'a' } };
  const callerOf = (node: Parameters<typeof commitOf<'start'>>[2], by: CommitPlace | undefined): string[] =>
    faultsOf((report) => checkCaller(commitOf('start', 1, node), by, report));
  const wanted = (field: string, is: unknown, has: unknown): string =>
    `start.json: ${field} is ${String(is)}, by its caller it has to be ${String(has)}`;

  test('is named by its start', () => {
    expect(callerOf({}, undefined)).toEqual([]);
    expect(callerOf(called, caller)).toEqual([]);
    expect(callerOf({ ...called, id: callOf(2), call: { thread, key: 'a', ordinal: 2 } }, caller)).toEqual([]);
  });

  test.each<[Parameters<typeof callerOf>[0], CommitPlace | undefined, string[]]>([
    [{ ...called, parentThread: hashOf(9) }, caller, [wanted('parentThread', hashOf(9), hashOf(70))]],
    [{ ...called, parentState: hashOf(9) }, caller, [wanted('parentState', hashOf(9), hashOf(71))]],
    [{ ...called, depth: 1 }, caller, [wanted('depth', 1, 2)]],
    [uncalled, caller, ['start.json: it has a caller, and does not say which call it is']],
    [{ parentThread: hashOf(9) }, undefined, [wanted('parentThread', hashOf(9), null)]],
    [{ parentState: hashOf(9) }, undefined, [wanted('parentState', hashOf(9), null)]],
    [{ depth: 1 }, undefined, [wanted('depth', 1, 0)]],
    [{ parentRole: 'writer' }, undefined, [wanted('parentRole', 'writer', null)]],
    [{ call: { thread, key: 'a' } }, undefined, ['start.json: it is a call, and there is no caller']],
    [
      { ...called, parentRole: null },
      caller,
      [wanted('parentRole', null, 'a role'), 'start.json: it is a call, and there is no caller'],
    ],
    [{ ...called, id: callOf(1) }, caller, [wanted('id', callOf(1), callOf(0))]],
  ])('is another than its start says: %#', (node, by, faults) => {
    expect(callerOf(node, by)).toEqual(faults);
  });
});

function stored(type: NodeHash, payload: Parameters<typeof encodeNode>[1]): StoredNode {
  const { hash } = encodeNode(type, payload);
  return { type, payload, hash, oid: idOf(80) };
}

describe('the further parents of a commit', () => {
  const before = threadOf(firstStep);
  const pinning = stored(builtIn.artifact, { kind: 'commit', oid: idOf(61), title: 'x' });
  type Given = {
    before?: ThreadProgress;
    threads?: [ObjectId, CommitPlace][];
    linked?: NodeHash[];
    nodes?: StoredNode[];
  };
  const parentsOf = (commit: ThreadCommit, given: Given = {}): string[] =>
    faultsOf((report) =>
      checkParents(
        commit,
        given.before ?? before,
        new Map(given.threads),
        new Set(given.linked),
        given.nodes ?? [],
        report,
      ),
    );
  /** A step after the first one, with further parents. */
  const step = (node: Parameters<typeof commitOf<'step'>>[2], ...further: ObjectId[]): ThreadCommit =>
    commitOf('step', 4, { number: 2, ...node }, [idOf(2), ...further]);
  const child = place(7, {
    start: { hash: hashOf(70), depth: 1, parentThread: hashOf(1), parentState: hashOf(2), parentRole: 'writer' },
  });
  const ownStart = { hash: hashOf(1), depth: 0, parentThread: null, parentState: null, parentRole: null };
  const replaced = place(8, { kind: 'step', number: 2, start: ownStart });

  test('are those that its node asks for', () => {
    expect(parentsOf(step({}))).toEqual([]);
    expect(parentsOf(commitOf('end', 5, {}, [idOf(2)]))).toEqual([]);
    expect(parentsOf(step({ childThreads: [hashOf(7)] }, idOf(7)), { threads: [[idOf(7), child]] })).toEqual([]);
    expect(parentsOf(step({ replaces: hashOf(8) }, idOf(8)), { threads: [[idOf(8), replaced]] })).toEqual([]);
    expect(parentsOf(step({ workspace: { tree: idOf(60), commit: idOf(62) } }, idOf(62)))).toEqual([]);
    expect(parentsOf(step({}, idOf(61)), { nodes: [pinning] })).toEqual([]);
  });

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

  test('are missed where its node asks for them', () => {
    const asked = (what: string): string => `no parent of it is ${what}, which its node asks for`;
    expect(parentsOf(step({ childThreads: [hashOf(7)], replaces: hashOf(8) }))).toEqual([
      asked(hashOf(7)),
      asked(hashOf(8)),
    ]);
    expect(parentsOf(step({ workspace: { tree: idOf(60), commit: idOf(62) } }), { nodes: [pinning] })).toEqual([
      asked(idOf(62)),
      asked(idOf(61)),
    ]);
    // The first parent is the commit before.
    expect(
      parentsOf(commitOf('step', 4, { childThreads: [hashOf(7)] }, [idOf(7)]), { threads: [[idOf(7), child]] }),
    ).toEqual([asked(hashOf(7))]);
  });

  test('are each asked for once', () => {
    const threads: [ObjectId, CommitPlace][] = [
      [idOf(7), child],
      [idOf(77), child],
    ];
    expect(parentsOf(step({ childThreads: [hashOf(7)] }, idOf(7), idOf(77)), { threads })).toEqual([
      `nothing accounts for its parent ${idOf(77)}`,
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

  test('that are code are the commit that was checked out, and those that artifacts pin', () => {
    const workspace = { tree: idOf(60), commit: idOf(62) };
    expect(codeCommits(commitOf('step', 4, { workspace }), [pinning])).toEqual([idOf(62), idOf(61)]);
    expect(codeCommits(commitOf('step', 4), [])).toEqual([]);
    expect(codeCommits(commitOf('end', 5), [pinning])).toEqual([idOf(61)]);
  });
});
