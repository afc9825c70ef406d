import { describe, expect, test } from 'vitest';
import { HistoryTooLarge, StepHistory } from '../../../src/verify/replay/step-history.ts';
import { growthSince } from '../../../src/expression/evaluation/evaluator-protocol.ts';
import { ALL_SEEN, NOTHING_SEEN } from '../../../src/expression/analysis/steps-seen.ts';
import { ruleScope } from '../../../src/moderator/decide.ts';
import type { StepView } from '../../../src/thread/read/step-view.ts';

function step(number: number, text = `text ${number}`): StepView {
  const meta = { number };
  const role = number % 2 === 0 ? 'even' : 'odd';
  const rest = { hash: `h${number}`, status: null, agent: 'robot', usage: null, startedAtMs: 1, completedAtMs: 2 };
  return { role, meta, output: meta, text, ...rest };
}

function historyOf(seen: Pick<typeof ALL_SEEN, 'newest' | 'members'>, count: number): StepHistory {
  const history = new StepHistory(seen, Infinity);
  for (let number = 1; number <= count; number++) history.add(step(number));
  return history;
}

describe('the steps that rules can see something of', () => {
  test('are all of them, whole, where everything is seen', () => {
    expect(historyOf(ALL_SEEN, 5).list()).toEqual([1, 2, 3, 4, 5].map((number) => step(number)));
  });

  test('are the newest where nothing else is seen, and always one', () => {
    expect(historyOf({ newest: 2, members: undefined }, 5).list()).toEqual([step(4), step(5)]);
    expect(historyOf(NOTHING_SEEN, 5).list()).toEqual([step(5)]);
    expect(historyOf(NOTHING_SEEN, 0).list()).toEqual([]);
  });

  test('are as many as there are, with what is seen of them', () => {
    const list = historyOf({ newest: 1, members: new Set(['role', 'meta']) }, 4).list();
    expect(list.map(({ role, meta, text }) => [role, meta, text])).toEqual([
      ['odd', { number: 1 }, ''],
      ['even', { number: 2 }, ''],
      ['odd', { number: 3 }, ''],
      ['even', { number: 4 }, 'text 4'],
    ]);
  });

  test.each([1, 3])(
    'are not handed over anew for each decision, though less is seen of one that is no longer among the newest %i',
    (newest) => {
      const history = historyOf({ newest, members: new Set(['role', 'meta']) }, 100);
      const scope = (): ReturnType<typeof ruleScope> =>
        ruleScope(
          { threadId: '', start: { prompt: '', workflow: '', depth: 0, startedAtMs: 0 }, steps: [] },
          { steps: history.list() },
        );
      const before = scope();
      history.add(step(101));
      expect(growthSince(before, scope())?.moreSteps).toHaveLength(newest + 1);
    },
  );

  test('are few in memory where roles alone are seen, however many there are', () => {
    const history = new StepHistory({ newest: 0, members: new Set(['role']) }, 40_000);
    for (let number = 1; number <= 2_000; number++) history.add(step(number, 'x'.repeat(1_000)));
    expect(history.list().filter(({ role }) => role === 'odd')).toHaveLength(1_000);
    expect(new Set(history.list()).size).toBe(3);
  });

  test('are refused when they take too much, and not for the newest alone', () => {
    const large = 'x'.repeat(1_000);
    const history = new StepHistory(ALL_SEEN, 5_000);
    history.add(step(1, 'x'.repeat(100_000)));
    expect(() => history.add(step(2))).toThrow(HistoryTooLarge);
    const another = new StepHistory(ALL_SEEN, 5_000);
    const addMany = (): void => {
      for (let number = 1; number <= 10; number++) another.add(step(number, large));
    };
    expect(addMany).toThrow(/what its rules look at of its steps takes more than 5000 bytes/);
  });
});
