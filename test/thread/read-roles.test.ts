import { describe, expect, test } from 'vitest';
import { appendStep } from '../../src/thread/append-step.ts';
import { readRoles } from '../../src/thread/thread-chain.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { startLoop, stepDraft } from './thread-fixture.ts';

const repository = createMapRepository();
const steps = [
  { role: 'writer', meta: { $status: 'again', place: 1 } },
  { role: 'checker', meta: { $status: 'again', place: 2 } },
  { role: 'writer', meta: { $status: 'done', place: 3 } },
];
let state = await startLoop(repository);
for (const step of steps) state = await appendStep(repository, state, stepDraft(step));
const { tally } = state;

describe('what rules see of roles', () => {
  test('is how often each had a turn, and nothing is read for that', async () => {
    const broken = createMapRepository();
    expect(await readRoles(broken, state, false)).toEqual(
      new Map([
        ['writer', { visits: 2 }],
        ['checker', { visits: 1 }],
      ]),
    );
  });

  test('is the meta of the first and the last step of each, where rules look at that', async () => {
    expect(await readRoles(repository, state, true)).toEqual(
      new Map([
        ['writer', { visits: 2, first: steps[0]!.meta, last: steps[2]!.meta }],
        ['checker', { visits: 1, first: steps[1]!.meta, last: steps[1]!.meta }],
      ]),
    );
  });

  test('leaves out roles without a turn, and a place without a step has no meta', async () => {
    const none = { ...tally.roles.get('writer')!, visits: 0 };
    const atStart = { ...tally.roles.get('writer')!, first: null, last: null };
    const roles = new Map([
      ['none', none],
      ['some', atStart],
    ]);
    expect(await readRoles(repository, { ...state, tally: { ...tally, roles } }, true)).toEqual(
      new Map([['some', { visits: 2, first: undefined, last: undefined }]]),
    );
  });

  test('is corrupt where a place names no step', async () => {
    const roles = new Map([['writer', { ...tally.roles.get('writer')!, first: 9 }]]);
    await expect(readRoles(repository, { ...state, tally: { ...tally, roles } }, true)).rejects.toThrow(
      /it has no step 9/,
    );
  });
});
