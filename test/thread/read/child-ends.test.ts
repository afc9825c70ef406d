import { describe, expect, test } from 'vitest';
import { appendStep } from '../../../src/thread/append-step.ts';
import { endThread } from '../../../src/thread/thread-verbs.ts';
import { readChildEnds } from '../../../src/thread/thread-chain.ts';
import type { CommitOf } from '../../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../../helpers/map-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { startLoop, stepAt, stepDraft } from '../thread-fixture.ts';

async function endedThread(repository: MapRepository, summary: string): Promise<CommitOf<'end'>> {
  const ended = await endThread(repository, await startLoop(repository), {
    outcome: 'completed',
    returnCode: 0,
    summary,
  });
  if (ended.end === undefined) throw new Error('it has ended');
  return ended.end;
}

const childOf = ({ hash, id }: CommitOf<'end'>): { hash: typeof hash; commit: typeof id } => ({ hash, commit: id });

/** A step that took in two children, and that links to a step and to the end of another thread. */
async function callingStep() {
  const repository = createMapRepository();
  const [one, two] = [await endedThread(repository, 'One.'), await endedThread(repository, 'Two.')];
  const linked = await appendStep(repository, await startLoop(repository), stepDraft());
  const foreign = await endedThread(repository, 'Three.');
  const first = await appendStep(repository, await startLoop(repository), stepDraft());
  const draft = stepDraft({
    childThreads: [childOf(one), childOf(two)],
    linked: { waiting: [], nodes: [], missing: [], commits: [linked.head.id, foreign.id] },
  });
  const step = stepAt(await appendStep(repository, first, draft));
  return { repository, first: stepAt(first), step, one, two, linked: stepAt(linked) };
}

describe('the ends of the children of a step', () => {
  test('are those that its node names, in the order of its parents', async () => {
    const { repository, step, one, two } = await callingStep();
    expect((await readChildEnds(repository, step)).map(({ id }) => id)).toEqual([one.id, two.id]);
    const reversed = { ...step.node, childThreads: [two.hash, one.hash] };
    const ends = await readChildEnds(repository, { ...step, node: reversed });
    expect(ends.map(({ id }) => id)).toEqual([one.id, two.id]);
  });

  test('are ends only, whatever the node names', async () => {
    const { repository, step, one, linked } = await callingStep();
    const node = { ...step.node, childThreads: [linked.hash, one.hash] };
    expect((await readChildEnds(repository, { ...step, node })).map(({ id }) => id)).toEqual([one.id]);
  });

  test('are never in the first parent, which is of the same thread', async () => {
    const { repository, step, one, two } = await callingStep();
    const commit = { ...step.commit, parents: [one.id, two.id] };
    expect((await readChildEnds(repository, { ...step, commit })).map(({ id }) => id)).toEqual([two.id]);
  });

  test('are without one that cannot be read', async () => {
    const { repository, step, one, two } = await callingStep();
    repository.objectMap.delete(one.id);
    expect((await readChildEnds(repository, step)).map(({ id }) => id)).toEqual([two.id]);
  });

  test('cost nothing where it has none, whatever else it links to', async () => {
    const { repository, step } = await callingStep();
    const spied = watched(repository);
    const node = { ...step.node, childThreads: [] };
    expect(await readChildEnds(spied.repository, { ...step, node })).toEqual([]);
    expect(spied.read).toEqual([]);
  });
});
