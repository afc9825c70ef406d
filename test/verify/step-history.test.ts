import { describe, expect, test } from 'vitest';
import { StepHistory } from '../../src/verify/step-history.ts';
import { growthSince } from '../../src/expression/evaluation/evaluator-protocol.ts';
import { ALL_SEEN, NOTHING_SEEN, type StepsSeen } from '../../src/expression/analysis/steps-seen.ts';
import { ruleScope } from '../../src/moderator/decide.ts';
import type { StepView } from '../../src/thread/step-view.ts';

function step(number: number, text = `text ${number}`): StepView {
  const meta = { number };
  const role = number % 2 === 0 ? 'even' : 'odd';
  const rest = { hash: `h${number}`, status: null, agent: 'robot', usage: null, startedAtMs: 1, completedAtMs: 2 };
  return { role, meta, output: meta, text, ...rest };
}

function historyOf(seen: Partial<StepsSeen>, count: number): StepHistory {
  const history = new StepHistory({ ...NOTHING_SEEN, ...seen }, Infinity);
  for (let number = 1; number <= count; number++) history.add(step(number));
  return history;
}

/** The steps that an expression sees, if it sees as much of them as all rules do. */
const listOf = async (history: StepHistory, seen: Partial<StepsSeen>): Promise<readonly StepView[]> =>
  (await history.steps().seenBy({ ...NOTHING_SEEN, ...seen })).steps;

describe('the steps that rules can see something of', () => {
  test('are all of them, whole, where everything is seen', async () => {
    expect(await listOf(historyOf(ALL_SEEN, 5), ALL_SEEN)).toEqual([1, 2, 3, 4, 5].map((number) => step(number)));
  });

  test('are the newest where nothing else is seen, and always one', async () => {
    expect(await listOf(historyOf({ newest: 2 }, 5), { newest: 2 })).toEqual([step(4), step(5)]);
    expect(await listOf(historyOf({ newest: 2 }, 5), { newest: 1 })).toEqual([step(5)]);
    expect(await listOf(historyOf(NOTHING_SEEN, 5), { newest: 1 })).toEqual([step(5)]);
    expect(await listOf(historyOf(NOTHING_SEEN, 5), {})).toEqual([]);
    expect(await listOf(historyOf(NOTHING_SEEN, 0), { newest: 1 })).toEqual([]);
  });

  test('are what roles add up to where that alone is seen', async () => {
    const history = historyOf({ newest: 1, counts: true, visits: true, ends: true }, 5);
    const before = history.steps();
    history.add(step(6));
    const { steps, roles } = await before.seenBy({ ...NOTHING_SEEN, newest: 1, counts: true, ends: true });
    expect(steps.map(({ role, text }) => [role, text])).toEqual([
      ['odd', ''],
      ['odd', ''],
      ['even', ''],
      ['even', ''],
      ['odd', 'text 5'],
    ]);
    expect(roles).toEqual(
      new Map([
        ['odd', { visits: 3, first: { number: 1 }, last: { number: 5 } }],
        ['even', { visits: 2, first: { number: 2 }, last: { number: 4 } }],
      ]),
    );
    expect(before.lastRole).toBe('odd');
    expect((await history.steps().seenBy({ ...NOTHING_SEEN, visits: true })).roles?.get('even')?.visits).toBe(3);
  });

  test('are as many as there are, with what is seen of them', async () => {
    const seen = { newest: 1, members: new Set(['role', 'meta']) };
    const list = await listOf(historyOf(seen, 4), seen);
    expect(list.map(({ role, meta, text }) => [role, meta, text])).toEqual([
      ['odd', { number: 1 }, ''],
      ['even', { number: 2 }, ''],
      ['odd', { number: 3 }, ''],
      ['even', { number: 4 }, 'text 4'],
    ]);
  });

  test.each([1, 3])(
    'are not handed over anew for each decision, though less is seen of one that is no longer among the newest %i',
    async (newest) => {
      const seen = { newest, members: new Set(['role', 'meta']) };
      const history = historyOf(seen, 100);
      const scope = async (): Promise<ReturnType<typeof ruleScope>> =>
        ruleScope(
          { threadId: '', start: { prompt: '', workflow: '', depth: 0, startedAtMs: 0 }, steps: [] },
          { steps: await listOf(history, seen) },
        );
      const before = await scope();
      history.add(step(101));
      expect(growthSince(before, await scope())?.moreSteps).toHaveLength(newest + 1);
    },
  );

  test('are few in memory where roles alone are seen, however many there are', async () => {
    const seen = { ...NOTHING_SEEN, members: new Set(['role']) };
    const history = new StepHistory(seen, 40_000);
    for (let number = 1; number <= 2_000; number++) history.add(step(number, 'x'.repeat(1_000)));
    const list = await listOf(history, seen);
    expect(list.filter(({ role }) => role === 'odd')).toHaveLength(1_000);
    expect(new Set(list).size).toBe(3);
  });

  test('are refused when they take too much, and not for the newest alone', () => {
    const large = 'x'.repeat(1_000);
    const history = new StepHistory(ALL_SEEN, 5_000);
    history.add(step(1, 'x'.repeat(100_000)));
    expect(() => history.add(step(2))).toThrow(expect.objectContaining({ code: 'history-too-large' }));
    const ends = new StepHistory({ ...NOTHING_SEEN, ends: true }, 5_000);
    ends.add({ ...step(1), meta: { text: 'x'.repeat(4_000) } });
    ends.add(step(2));
    expect(() => ends.add({ ...step(3), meta: { text: 'x'.repeat(4_000) } })).toThrow(
      expect.objectContaining({ code: 'history-too-large' }),
    );
    const another = new StepHistory(ALL_SEEN, 5_000);
    const addMany = (): void => {
      for (let number = 1; number <= 10; number++) another.add(step(number, large));
    };
    expect(addMany).toThrow(/what its rules look at of its steps takes more than 5000 bytes/);
  });
});
