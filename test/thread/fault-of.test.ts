import { describe, expect, test } from 'vitest';
import { UwfError, type ErrorKind } from '../../src/errors.ts';
import { assertDataError, faultOf, nothingForDataError } from '../../src/thread/thread-errors.ts';

const errorOf = (kind: ErrorKind): UwfError => new UwfError(`an error of ${kind}`, { code: 'an-error', kind });
const others: ErrorKind[] = ['usage', 'conflict', 'agent', 'refused', 'environment', 'interrupted'];

describe('the fault that an error tells of', () => {
  test.each(['data', 'timeout'] as const)('is its message, where it is about %s', (kind) => {
    expect(faultOf(errorOf(kind))).toBe(`an error of ${kind}`);
  });

  test.each(others)('is none where it is about something else: %s', (kind) => {
    expect(faultOf(errorOf(kind))).toBeUndefined();
  });

  test('is an unexpected error, with its name: the check of other threads goes on', () => {
    expect(faultOf(new RangeError('too deep'))).toBe('it cannot be checked: RangeError: too deep');
  });

  test('is none where a check was stopped, the machine failed, or something else was thrown', () => {
    expect(faultOf(new DOMException('stop', 'AbortError'))).toBeUndefined();
    expect(faultOf(Object.assign(new Error('EIO'), { syscall: 'read' }))).toBeUndefined();
    expect(faultOf('a text')).toBeUndefined();
    expect(faultOf(undefined)).toBeUndefined();
  });
});

describe('an error of damaged data', () => {
  test('counts as nothing', () => {
    expect(() => assertDataError(errorOf('data'))).not.toThrow();
    expect(nothingForDataError(errorOf('data'))).toBeUndefined();
  });

  test.each([errorOf('environment'), errorOf('timeout'), new TypeError('a bug'), 'a text'])(
    'is the only one that does: %s',
    (error) => {
      const thrown: unknown[] = [];
      const checks: readonly ((error: unknown) => void)[] = [assertDataError, nothingForDataError];
      for (const check of checks) {
        try {
          check(error);
        } catch (again) {
          thrown.push(again);
        }
      }
      expect(thrown).toEqual([error, error]);
    },
  );
});
