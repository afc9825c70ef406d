import { describe, expect, test } from 'vitest';
import { appendStep } from '../../src/thread/append-step.ts';
import { endThread } from '../../src/thread/thread-verbs.ts';
import { readReplaced } from '../../src/thread/thread-state.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { startLoop, stepAt, stepDraft } from './thread-fixture.ts';

/** A step that was done three times; the last time it took in a child and linked to a step of another thread. */
async function thrice() {
  const repository = createMapRepository();
  const child = await endThread(repository, await startLoop(repository), {
    outcome: 'completed',
    returnCode: 0,
    summary: 'Done.',
  });
  const linked = stepAt(await appendStep(repository, await startLoop(repository), stepDraft()));
  const before = await appendStep(repository, await startLoop(repository), stepDraft({ text: 'Before.' }));
  const first = stepAt(await appendStep(repository, before, stepDraft({ text: 'First.' })));
  const second = stepAt(await appendStep(repository, before, stepDraft({ text: 'Second.', replaces: first })));
  const third = stepAt(
    await appendStep(
      repository,
      before,
      stepDraft({
        text: 'Third.',
        replaces: second,
        childThreads: [{ hash: child.head.hash, commit: child.head.id }],
        linked: { waiting: [], nodes: [], missing: [], commits: [linked.id] },
      }),
    ),
  );
  return { repository, before: stepAt(before), first, second, third, child };
}

describe('the steps that a step took the place of', () => {
  test('are read one after another, the newest first', async () => {
    const { repository, first, second, third } = await thrice();
    expect((await readReplaced(repository, third)).map(({ id }) => id)).toEqual([second.id, first.id]);
    expect((await readReplaced(repository, second)).map(({ id }) => id)).toEqual([first.id]);
  });

  test('are none where it took no place, and nothing is read', async () => {
    const { repository, first } = await thrice();
    const spied = watched(repository);
    expect(await readReplaced(spied.repository, first)).toEqual([]);
    expect(spied.read).toEqual([]);
  });

  test('are not looked for in the first parent, which the step follows', async () => {
    const { repository, before, second } = await thrice();
    const spied = watched(repository);
    await readReplaced(spied.repository, second);
    expect(spied.read).not.toContain(before.id);
  });

  test('are told as far as they are there', async () => {
    const { repository, first, second, third } = await thrice();
    repository.objectMap.delete(first.id);
    expect((await readReplaced(repository, third)).map(({ id }) => id)).toEqual([second.id]);
    repository.objectMap.delete(second.id);
    expect(await readReplaced(repository, third)).toEqual([]);
  });

  test('are steps alone, whatever its node names', async () => {
    const { repository, third, child } = await thrice();
    const node = { ...third.node, replaces: child.head.hash };
    expect(await readReplaced(repository, { ...third, node })).toEqual([]);
  });
});
