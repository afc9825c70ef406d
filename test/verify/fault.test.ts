import { describe, expect, test } from 'vitest';
import { UwfError, type ErrorKind } from '../../src/errors.ts';
import type { ObjectId } from '../../src/git/format/object-id.ts';
import { assertDataError, faultOf } from '../../src/thread/thread-errors.ts';
import { firstFault } from '../../src/verify/find-chain.ts';

const id = 'a'.repeat(40) as ObjectId;
const errorOf = (kind: ErrorKind): UwfError => new UwfError('the message', { code: 'some-code', kind });

describe('a fault of the data', () => {
  test.each(['data', 'timeout'] as const)('is an error of kind %s', (kind) => {
    expect(faultOf(errorOf(kind))).toBe('the message');
  });

  test.each(['usage', 'conflict', 'agent', 'refused', 'environment', 'interrupted'] as const)(
    'is no error of kind %s',
    (kind) => expect(faultOf(errorOf(kind))).toBeUndefined(),
  );

  test('is an error that nothing raises on purpose, but not one of the system or a request to stop', () => {
    expect(faultOf(new TypeError('x is not a function'))).toBe('it cannot be checked: TypeError: x is not a function');
    expect(faultOf(Object.assign(new Error('EIO'), { syscall: 'read' }))).toBeUndefined();
    expect(faultOf(new DOMException('stop', 'AbortError'))).toBeUndefined();
    expect(faultOf('a string')).toBeUndefined();
  });

  test('is what errors of other kinds are thrown again for', () => {
    expect(() => assertDataError(errorOf('data'))).not.toThrow();
    for (const error of [errorOf('timeout'), new Error('other')]) expect(() => assertDataError(error)).toThrow(error);
  });
});

describe('the first fault of a commit', () => {
  test('is none before one is reported, and stays what it was', () => {
    const { report, reason } = firstFault(id);
    expect(reason()).toBeUndefined();
    report(null, 'it is wrong');
    report('step.json', 'it is wrong, too');
    expect(reason()).toBe(`commit ${id}: it is wrong`);
  });

  test('names the path, the middle of a long one left out', () => {
    const faultAt = (path: string): string | undefined => {
      const { report, reason } = firstFault(id);
      report(path, 'x');
      return reason();
    };
    expect(faultAt('step.json')).toBe(`commit ${id}, step.json: x`);
    const eighty = 'a'.repeat(40) + 'b'.repeat(40);
    expect(faultAt(eighty)).toBe(`commit ${id}, ${eighty}: x`);
    expect(faultAt(`${'a'.repeat(40)}_${'b'.repeat(40)}`)).toBe(`commit ${id}, ${'a'.repeat(40)}…${'b'.repeat(40)}: x`);
  });
});
