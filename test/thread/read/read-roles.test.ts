import { describe, expect, test } from 'vitest';
import { appendStep } from '../../../src/thread/append/append-step.ts';
import { readRoles } from '../../../src/thread/read/read-roles.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { startLoop, stepDraft } from '../thread-fixture.ts';

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
    expect(await readRoles(broken, tally, false)).toEqual(
      new Map([
        ['writer', { visits: 2 }],
        ['checker', { visits: 1 }],
      ]),
    );
  });

  test('is the meta of the first and the last step of each, where rules look at that', async () => {
    expect(await readRoles(repository, tally, true)).toEqual(
      new Map([
        ['writer', { visits: 2, first: steps[0]!.meta, last: steps[2]!.meta }],
        ['checker', { visits: 1, first: steps[1]!.meta, last: steps[1]!.meta }],
      ]),
    );
  });

  test('is read once for each step', async () => {
    const known = new Map();
    const roles = await readRoles(repository, tally, true, known);
    expect([...known.values()]).toEqual([steps[0]!.meta, steps[2]!.meta, steps[1]!.meta]);
    expect(await readRoles(createMapRepository(), tally, true, known)).toEqual(roles);
  });

  test('leaves out roles without a turn, and a place without a step has no meta', async () => {
    const none = { ...tally.roles.get('writer')!, visits: 0 };
    const atStart = { ...tally.roles.get('writer')!, first: null, last: null };
    const roles = new Map([
      ['none', none],
      ['some', atStart],
    ]);
    expect(await readRoles(repository, { ...tally, roles }, true)).toEqual(
      new Map([['some', { visits: 2, first: undefined, last: undefined }]]),
    );
  });

  test('is corrupt where a place names no step', async () => {
    const wrong = { commit: state.start.id, number: 1 };
    const roles = new Map([['writer', { ...tally.roles.get('writer')!, first: wrong }]]);
    await expect(readRoles(repository, { ...tally, roles }, true)).rejects.toThrow(/it is no step/);
  });
});
