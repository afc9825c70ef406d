import { describe, expect, test } from 'vitest';
import { ObjectBatch } from '../../src/git/stores/publish.ts';
import type { JsonObject } from '../../src/json.ts';
import { appendStep, type StepDraft } from '../../src/thread/append-step.ts';
import { endThread } from '../../src/thread/thread-verbs.ts';
import { findFilesToMerge, readBranchEnd } from '../../src/thread/step-view.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

/** A branch that took these steps and has ended. */
async function branch(
  repository: MapRepository,
  drafts: readonly Partial<StepDraft>[],
  summary = 'Done.',
): Promise<{ steps: ThreadState[]; end: ThreadState }> {
  let state = await startLoop(repository);
  const steps: ThreadState[] = [];
  for (const draft of drafts) {
    state = await appendStep(repository, state, stepDraft(draft));
    steps.push(state);
  }
  return { steps, end: await endThread(repository, state, { outcome: 'completed', returnCode: 0, summary }) };
}

async function endOf(drafts: readonly Partial<StepDraft>[], summary?: string, total = 1) {
  const repository = createMapRepository();
  const { end } = await branch(repository, drafts, summary);
  return readBranchEnd(repository, end.head.id, total);
}

describe('the end of a branch', () => {
  test('has the status and meta of its last step, and how it ended', async () => {
    const last = { $status: 'again', count: 3 };
    expect(await endOf([{ meta: { $status: 'done' } }, { meta: last }])).toEqual({
      status: 'again',
      meta: last,
      end: { outcome: 'completed', returnCode: 0, summary: 'Done.' },
    });
  });

  test('has no status where its last step has none, and no meta where it had no step', async () => {
    expect(await endOf([{ meta: { count: 3 } }])).toMatchObject({ status: null, meta: { count: 3 } });
    expect(await endOf([])).toMatchObject({ status: null, meta: null });
  });

  test.each([
    ['of 1000 characters', 'a'.repeat(1000), 'a'.repeat(1000)],
    ['of more', 'a'.repeat(1001), 'a'.repeat(1000)],
    ['with a character of two halves before the cut', `${'a'.repeat(998)}😀b`, `${'a'.repeat(998)}😀`],
    ['with a character of two halves at the cut', `${'a'.repeat(999)}😀`, 'a'.repeat(999)],
    ['with such a character before its end', '😀 is how it ended', '😀 is how it ended'],
  ])('has the beginning of a summary %s', async (_, summary, told) => {
    expect((await endOf([], summary)).end.summary).toBe(told);
  });

  test.each([
    [100_000, true],
    [100_001, false],
  ])('of %d branches has a meta of four lines: %j', async (total, isThere) => {
    const meta = { $status: 'done', count: 3 };
    const end = await endOf([{ meta }], 'Done.', total);
    expect(end).toMatchObject({ status: 'done', meta: isThere ? meta : null });
  });

  const metaOf = (bytes: number): JsonObject => {
    const empty = JSON.stringify({ text: '' }, null, 2);
    const text = bytes - empty.length - 3 * 10;
    return { text: 'é'.repeat(Math.floor(text / 2)) + 'x'.repeat(text % 2) };
  };

  test.each([
    [12_288, true],
    [12_289, false],
  ])('of 1024 branches has a meta of %d bytes, with its place in the step of the block: %j', async (bytes, isThere) => {
    const meta = metaOf(bytes);
    expect((await endOf([{ meta }], 'Done.', 1024)).meta).toEqual(isThere ? meta : null);
  });

  test('is corrupt where the branch has none', async () => {
    const repository = createMapRepository();
    const { steps } = await branch(repository, [{}]);
    const { id } = steps[0]!.head;
    await expect(readBranchEnd(repository, id, 1)).rejects.toMatchObject({
      code: 'corrupt-thread',
      message: `commit ${id} is not a sound part of a thread: the branch of a block has no end`,
    });
  });
});

describe('the files that a merge merges', () => {
  const files = new ObjectBatch();
  const [one, two] = ['one', 'two'].map((text) => ({
    tree: files.addTree([{ mode: '100644', name: 'a.txt', id: files.addBlob(text) }]),
    objects: files.objects,
  }));

  async function scene() {
    const repository = createMapRepository();
    await repository.objects.write(files.objects);
    const late = await branch(repository, [{ workspace: one }, { workspace: two }, {}]);
    const early = await branch(repository, [{ workspace: one }]);
    const without = await branch(repository, [{}]);
    const snapshotOf = ({ head }: ThreadState): unknown => (head.kind === 'step' ? head.node.workspace?.commit : head);
    const completed = [
      { key: 'late', end: late.end.head.id },
      { key: 'none', end: without.end.head.id },
      { key: 'early', end: early.end.head.id },
    ];
    const ofLate = { key: 'late', commit: snapshotOf(late.steps[1]!) };
    const ofEarly = { key: 'early', commit: snapshotOf(early.steps[0]!) };
    return { repository, completed, ofLate, ofEarly };
  }

  test.each(['end', undefined] as const)('are the newest of each branch, as they ended by order %j', async (order) => {
    const { repository, completed, ofLate, ofEarly } = await scene();
    expect(await findFilesToMerge(repository, order, completed)).toEqual([ofLate, ofEarly]);
  });

  test('are in the order of their keys if the block says so', async () => {
    const { repository, completed, ofLate, ofEarly } = await scene();
    for (const given of [completed, completed.toReversed()]) {
      expect(await findFilesToMerge(repository, 'key', given)).toEqual([ofEarly, ofLate]);
    }
  });
});
