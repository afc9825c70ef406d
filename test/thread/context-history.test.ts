import { expect, test } from 'vitest';
import { readHistory, readStepsToTell } from '../../src/thread/context-history.ts';
import { readState } from '../../src/thread/thread-state.ts';
import { createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { addManySteps } from './long-thread.ts';
import { startLoop } from './thread-fixture.ts';

test('a role is told of the newest hundred steps of a long thread, and a summary is made of all', async () => {
  const repository = await createTemporaryRepository().open();
  const started = await startLoop(repository);
  const state = await readState(repository, started.id, await addManySteps(repository, started, 300, 0));
  const listener = { role: 'writer', seen: undefined, maxCharacters: 60_000 };
  const history = await readHistory(repository, state, listener);
  expect(history).toMatchObject({ total: 300, own: { visits: 150, last: 299 } });
  expect(history.steps).toHaveLength(100);
  expect(history.steps[0]).toMatchObject({ number: 201, text: 'Text 201 of many.\n' });
  const all = await readStepsToTell(repository, state);
  expect(all.steps.map(({ number }) => number)).toEqual(Array.from({ length: 300 }, (_, at) => at + 1));
  expect(all.steps.every(({ text }) => text !== undefined)).toBe(true);
});
