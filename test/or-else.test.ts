import { expect, test } from 'vitest';
import { orElse, succeeds, tryTo } from '../src/or-else.ts';

const fail = (): never => {
  throw new Error('no');
};

test('work that throws gives the other value, and work that returns gives its own', () => {
  expect(orElse(fail, 'other')).toBe('other');
  expect(orElse(() => undefined, 'other')).toBeUndefined();
  expect(orElse(() => 'own', 'other')).toBe('own');
});

test('work succeeds where it returns', () => {
  expect(succeeds(() => {})).toBe(true);
  expect(succeeds(fail)).toBe(false);
});

test('work that may stay undone is done, and its error goes no further', () => {
  const done: string[] = [];
  tryTo(() => {
    done.push('first');
    fail();
  });
  expect(done).toEqual(['first']);
});
