import { expect, test } from 'vitest';
import { readHistory, readStepsToTell } from '../../src/thread/context-history.ts';
import { appendStep } from '../../src/thread/append-step.ts';
import { readState } from '../../src/thread/thread-state.ts';
import { createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { addManySteps } from './long-thread.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

const listener = { role: 'writer', seen: undefined, maxCharacters: 60_000 };

test('a run is told of a long thread as a command of its own is, and reads only what is new', async () => {
  const temporary = createTemporaryRepository();
  const { repository, read } = watched(await temporary.open());
  const started = await startLoop(repository);
  const head = await addManySteps(repository, started, 900, 0);
  let state = await readState(repository, started.id, head);
  const first = await readHistory(repository, state, listener);
  expect(first).toMatchObject({ total: 900, own: { visits: 450, last: 899 } });
  expect(first.steps).toHaveLength(100);
  expect(first.steps[0]).toMatchObject({ number: 801, text: 'Text 801 of many.\n' });
  for (const maxCharacters of [60_000, 4000, 60_000, 50, 60_000]) {
    state = await appendStep(repository, state, stepDraft({ text: `Text ${state.tally.steps + 1}.` }));
    const before = read.length;
    const history = await readHistory(repository, state, { ...listener, maxCharacters });
    if (maxCharacters === 4000) expect(read.length - before).toBeLessThan(12);
    const other = await temporary.open();
    const fresh = await readState(other, state.id, state.head.id);
    expect(history).toEqual(await readHistory(other, fresh, { ...listener, maxCharacters }));
    expect(history.steps.filter(({ text }) => text !== undefined).length).toBeLessThanOrEqual(100);
  }
  const all = await readStepsToTell(repository, state);
  expect(all.steps.map(({ number }) => number)).toEqual(Array.from({ length: 905 }, (_, at) => at + 1));
  expect(all.steps.every(({ text }) => text !== undefined)).toBe(true);
});
