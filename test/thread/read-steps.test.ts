import { beforeEach, describe, expect, test } from 'vitest';
import { appendStep } from '../../src/thread/append-step.ts';
import { resumeThread, suspendThread } from '../../src/thread/thread-verbs.ts';
import { readSteps } from '../../src/thread/thread-chain.ts';
import type { ThreadState } from '../../src/thread/thread-state.ts';
import { createMapRepository, type MapRepository } from '../helpers/map-repository.ts';
import { watched } from '../helpers/watched-repository.ts';
import { startLoop, stepDraft, suspensionDraft } from './thread-fixture.ts';

let repository: MapRepository;
/** The start, three steps, a suspension, a resumption, and a fourth step. */
let states: ThreadState[];

beforeEach(async () => {
  repository = createMapRepository();
  states = [await startLoop(repository)];
  const add = async (next: (state: ThreadState) => Promise<ThreadState>): Promise<void> => {
    states.push(await next(states.at(-1)!));
  };
  for (const text of ['One.', 'Two.', 'Three.']) {
    await add((state) => appendStep(repository, state, stepDraft({ text })));
  }
  await add((state) => suspendThread(repository, state, suspensionDraft({ text: 'Which?' })));
  await add((state) => resumeThread(repository, state, 'the left one'));
  await add((state) => appendStep(repository, state, stepDraft({ text: 'Four.' })));
});

const all = ['One.', 'Two.', 'Three.', 'Four.'];

describe('the last steps of a thread', () => {
  test.each([
    [0, []],
    [1, ['Four.']],
    [2, ['Three.', 'Four.']],
    [3, ['Two.', 'Three.', 'Four.']],
    [4, all],
    [9, all],
  ])('are at most %d, oldest first, with the start if they are all', async (limit, texts) => {
    const { steps, start } = await readSteps(repository, states.at(-1)!.head.id, limit);
    expect(steps.map(({ text }) => text)).toEqual(texts);
    expect(steps.map(({ commit }) => commit.node.number)).toEqual(texts.map((text) => all.indexOf(text) + 1));
    expect(start?.id).toBe(limit >= 4 ? states[0]!.head.id : undefined);
  });

  test.each([0, 1, 2, 3])('are read, %d of them, and nothing before them', async (limit) => {
    const spied = watched(repository);
    await readSteps(spied.repository, states.at(-1)!.head.id, limit);
    const steps = [1, 2, 3, 6].toReversed().map((at) => states[at]!.head.id);
    const read = steps.filter((id) => spied.read.includes(id));
    expect(read).toEqual(steps.slice(0, Math.max(limit, 1)));
    expect(spied.read).not.toContain(states[0]!.head.id);
  });
});
