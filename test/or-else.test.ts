import { expect, test } from 'vitest';
import { inPlaceOf, isOfClass, orElse, succeeds, tryTo } from '../src/or-else.ts';

const fail = (): never => {
  throw new Error('no');
};

test('work that throws gives the other value, and work that returns gives its own', () => {
  expect(orElse(fail, 'other')).toBe('other');
  expect(orElse(() => undefined, 'other')).toBeUndefined();
  expect(orElse(() => 'own', 'other')).toBe('own');
});

test('where errors are expected, any other goes through', () => {
  const isNo = (error: unknown): boolean => error instanceof Error && error.message === 'no';
  expect(orElse(fail, 'other', isNo)).toBe('other');
  expect(() => orElse(fail, 'other', () => false)).toThrow('no');
  expect(orElse(fail, 'other', isOfClass(Error))).toBe('other');
  expect(() => orElse(fail, 'other', isOfClass(RangeError))).toThrow('no');
});

test('a value stands in place of one class of errors, its subclasses included, and of no other', async () => {
  const inPlaceOfRange = inPlaceOf(RangeError, 'other');
  class TooFar extends RangeError {}
  await expect(Promise.reject(new RangeError('far')).catch(inPlaceOfRange)).resolves.toBe('other');
  await expect(Promise.reject(new TooFar('far')).catch(inPlaceOfRange)).resolves.toBe('other');
  await expect(Promise.reject(new TypeError('no')).catch(inPlaceOfRange)).rejects.toThrow('no');
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
