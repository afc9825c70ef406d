import { describe, expect, test } from 'vitest';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import { appendStep, type StepDraft } from '../../src/thread/append-step.ts';
import { resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { getThread } from '../../src/thread/find-thread.ts';
import { diffThreads, type ThreadDiff } from '../../src/thread/step-files.ts';
import { readState, type ThreadState } from '../../src/thread/thread-state.ts';
import { activeRef } from '../../src/thread/thread-id.ts';
import { newThreadId } from '../../src/thread/new-thread-id.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { agent, startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

type Drafts = readonly Partial<StepDraft>[];

async function addSteps(repository: MapRepository, from: ThreadState, drafts: Drafts): Promise<ThreadState> {
  let state = from;
  for (const draft of drafts) state = await appendStep(repository, state, stepDraft(draft));
  return state;
}

/** Another thread that goes on from where a thread is. */
async function forkOf(repository: MapRepository, state: ThreadState): Promise<ThreadState> {
  const id = newThreadId(repository);
  await repository.refs.update([{ name: activeRef(id), expected: null, value: state.head.id }]);
  return readState(repository, id, state.head.id);
}

async function diff(repository: MapRepository, a: ThreadState, b: ThreadState): Promise<ThreadDiff> {
  return diffThreads(repository, await getThread(repository, a.id), await getThread(repository, b.id));
}

/** Two threads that part after some steps. */
async function parted(shared: Drafts, ownOfA: Drafts, ownOfB: Drafts) {
  const repository = createMapRepository();
  const before = await addSteps(repository, await startLoop(repository), shared);
  const fork = await forkOf(repository, before);
  const a = await addSteps(repository, before, ownOfA);
  const b = await addSteps(repository, fork, ownOfB);
  return { before, a, b, diff: await diff(repository, a, b) };
}

const textsOf = ({ steps }: ThreadDiff): unknown[] => steps.map(({ number, a, b }) => [number, a?.text, b?.text]);

describe('two threads', () => {
  test('are compared from where they part, as far as either goes', async () => {
    const own = [{ text: 'Tulips.', meta: { $status: 'again' } }];
    const { before, a, b, diff: found } = await parted([{}, {}], own, [{ text: 'Weeds.' }, { text: 'More weeds.' }]);
    expect(found).toMatchObject({ a: a.id, b: b.id, firstDifference: 3, files: null });
    expect(found.ancestor).toEqual({ head: before.head.id, kind: 'step', node: before.head.hash, number: 2 });
    expect(textsOf(found)).toEqual([
      [3, 'Tulips.', 'Weeds.'],
      [4, undefined, 'More weeds.'],
    ]);
    expect(found.steps[0]?.a).toEqual({
      step: a.head.hash,
      head: a.head.id,
      role: 'writer',
      status: 'again',
      meta: { $status: 'again' },
      text: 'Tulips.',
    });
    expect(found.steps[1]).toMatchObject({ a: null, isSame: false });
  });

  test('of which one is the beginning of the other differ by the rest', async () => {
    const { before, diff: found } = await parted([{}], [{ text: 'More.' }], []);
    expect(found).toMatchObject({ ancestor: { head: before.head.id, number: 1 }, firstDifference: 2 });
    expect(textsOf(found)).toEqual([[2, 'More.', undefined]]);
    const { diff: same } = await parted([{}], [], []);
    expect(same).toMatchObject({ firstDifference: null, steps: [] });
  });

  test('that part at their start, or while a turn waits, have the steps up to there in common', async () => {
    const { before, diff: atStart } = await parted([], [{ text: 'One.' }], [{ text: 'Other.' }]);
    expect(atStart).toMatchObject({ ancestor: { head: before.head.id, kind: 'start', number: 0 }, firstDifference: 1 });
    const repository = createMapRepository();
    const one = await addSteps(repository, await startLoop(repository), [{}]);
    const waiting = await suspendThread(
      repository,
      one,
      suspensionDraft({ role: 'checker', rule: 1, prompt: 'Check.' }),
    );
    const fork = await forkOf(repository, waiting);
    const left = await addSteps(repository, await resumeThread(repository, waiting, 'left'), [{ text: 'Left.' }]);
    const right = await addSteps(repository, await resumeThread(repository, fork, 'right'), [{ text: 'Right.' }]);
    const found = await diff(repository, left, right);
    expect(found.ancestor).toMatchObject({ head: waiting.head.id, kind: 'suspend', number: 1 });
    expect(textsOf(found)).toEqual([[2, 'Left.', 'Right.']]);
  });

  test('that share nothing are compared from their starts', async () => {
    const repository = createMapRepository();
    const a = await addSteps(repository, await startLoop(repository), [{ text: 'One.' }, { text: 'Two.' }]);
    const b = await addSteps(repository, await startLoop(repository), [{ text: 'One.' }]);
    const found = await diff(repository, a, b);
    expect(found).toMatchObject({ ancestor: null, firstDifference: 2 });
    expect(found.steps.map(({ number, isSame }) => [number, isSame])).toEqual([
      [1, true],
      [2, false],
    ]);
  });
});

test.each<[string, boolean, Partial<StepDraft>]>([
  ['another agent', true, { agent: { ...agent, version: '2' } }],
  ['another role', false, { role: 'checker' }],
  ['another text', false, { text: 'Weeds.' }],
  ['another meta', false, { meta: { $status: 'again' } }],
])('a step with %s says the same: %j', async (_, isSame, draft) => {
  const { diff: found } = await parted([], [{}], [draft]);
  expect(found.steps[0]?.isSame).toBe(isSame);
  expect(found.firstDifference).toBe(isSame ? null : 1);
});

describe('the files of two threads', () => {
  const batch = new ObjectBatch();
  const recorded = (text: string): Partial<StepDraft> => ({
    text,
    workspace: {
      tree: batch.addTree([{ mode: '100644', name: 'a.txt', id: batch.addBlob(text) }]),
      objects: batch.objects,
    },
  });
  const nothing = { text: 'nothing recorded' };

  test.each<[string, Drafts, Drafts, Drafts, [string, string] | null]>([
    ['neither recorded any', [nothing], [nothing], [nothing], null],
    ['neither has any of its own', [recorded('s')], [nothing], [nothing], null],
    ['both have', [recorded('s')], [recorded('a1'), recorded('a2'), nothing], [recorded('b')], ['a2', 'b']],
    ['only the first has', [recorded('s1'), recorded('s2'), nothing], [recorded('a')], [nothing], ['a', 's2']],
    ['only the second has', [recorded('s1'), recorded('s2'), nothing], [], [recorded('b')], ['s2', 'b']],
    ['only the first has, and they share none', [nothing], [recorded('a')], [], null],
    ['only the second has, and they share none', [nothing], [], [recorded('b')], null],
  ])('are the newest that each recorded or shares, where %s', async (_, shared, ownOfA, ownOfB, expected) => {
    const { diff: found } = await parted(shared, ownOfA, ownOfB);
    const files = found.files && [found.files.a, found.files.b];
    const texts = files?.map(({ commit }) => commit.message.split('\n')[0]?.replace('writer: ', '')) ?? null;
    expect(texts).toEqual(expected);
  });

  test.each<[string, Drafts, Drafts, boolean]>([
    ['both', [recorded('a')], [recorded('b')], true],
    ['one', [recorded('a')], [nothing], false],
    ['the other', [nothing], [recorded('b')], false],
    ['neither', [nothing], [nothing], false],
  ])('that share nothing are compared if both recorded some: %s', async (_, ownOfA, ownOfB, isCompared) => {
    const repository = createMapRepository();
    const a = await addSteps(repository, await startLoop(repository), ownOfA);
    const b = await addSteps(repository, await startLoop(repository), ownOfB);
    const { files } = await diff(repository, a, b);
    expect(files && [files.a.id, files.b.id]).toEqual(isCompared ? [a.head.id, b.head.id] : null);
  });
});
