import { expect, test } from 'vitest';
import {
  appendStep,
  compactionFor,
  compactionOf,
  isCompaction,
  pinCompaction,
  readCarriedCompaction,
  readWaitingCompaction,
} from '../../src/thread/append-step.ts';
import { readScratch, threadCas } from '../../src/thread/thread-cas.ts';
import type { CommitOf, ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

function headOf({ head }: ThreadState): CommitOf<'step'> {
  if (head.kind !== 'step') throw new TypeError('the thread has no step');
  return head;
}

async function threadOfOneStep() {
  const repository = createMapRepository();
  const state = await appendStep(repository, await startLoop(repository), stepDraft());
  return { repository, state, step: headOf(state) };
}

test('a summary waits for the step after the last one in it, which stores it', async () => {
  const { repository, state, step } = await threadOfOneStep();
  const hash = await pinCompaction(repository, state.id, step.hash, 'All is well.');
  expect(await readWaitingCompaction(repository, state.id, step.hash)).toBe('All is well.');
  const next = headOf(await appendStep(repository, state, stepDraft()));
  expect(next.node.compact).toBe(hash);
  expect(await readCarriedCompaction(repository, next)).toBe('All is well.');
  expect(await compactionOf(repository, next)).toMatchObject({ hash });
  expect(await readWaitingCompaction(repository, state.id, step.hash)).toBeUndefined();
});

test('a step without a summary stores none', async () => {
  const { repository, step } = await threadOfOneStep();
  expect(await readCarriedCompaction(repository, step)).toBeUndefined();
  expect(await compactionOf(repository, step)).toBeUndefined();
});

test('a summary is dropped by a step that is not the next one, and waits for nothing where there is no step', async () => {
  const { repository, state, step } = await threadOfOneStep();
  await pinCompaction(repository, state.id, state.start.hash, 'Too old.');
  expect(await readWaitingCompaction(repository, state.id, step.hash)).toBeUndefined();
  expect(await readWaitingCompaction(repository, state.id, undefined)).toBeUndefined();
  const next = headOf(await appendStep(repository, state, stepDraft()));
  expect(next.node.compact).toBeNull();
  expect((await readScratch(repository, state.id)).files).toEqual([]);
});

test('a new summary takes the place of the one before, and of nothing else that waits', async () => {
  const { repository, state, step } = await threadOfOneStep();
  const artifact = await threadCas(repository, state.id).put('a note');
  await pinCompaction(repository, state.id, state.start.hash, 'first');
  const second = await pinCompaction(repository, state.id, step.hash, 'second');
  const scratch = await readScratch(repository, state.id);
  expect(scratch.files.filter(isCompaction).map(({ node }) => node.hash)).toEqual([second]);
  expect(scratch.files.filter((file) => !isCompaction(file)).map(({ node }) => node.hash)).toContain(artifact);
  expect(compactionFor(scratch, step.hash)?.hash).toBe(second);
  expect(compactionFor(scratch, state.start.hash)).toBeUndefined();
});
