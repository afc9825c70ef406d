import { expect, test, vi } from 'vitest';
import { TooManyOpenFiles } from '../../src/git/format/errors.ts';
import { runInTimeBox, ValidationTimeout } from '../../src/schema/time-box.ts';
import { allowFiles } from '../helpers/few-files.ts';

test('gives what the work gives', () => {
  expect(runInTimeBox(() => 5, 1000)).toBe(5);
  const failing = (): never => {
    throw new RangeError('deep');
  };
  expect(() => runInTimeBox(failing, 1000)).toThrow(RangeError);
});

test('stops work that takes too long', () => {
  const work = (): never => {
    for (;;);
  };
  expect(() => runInTimeBox(work, 10)).toThrow(ValidationTimeout);
  expect(() => runInTimeBox(work, 10)).toThrow('took longer than 10 ms');
});

test('runs where the six files of the watch can be opened, and closes what it opened itself', () => {
  const { opened, closed } = allowFiles(6);
  expect(runInTimeBox(() => 5, 1000)).toBe(5);
  expect(opened).toHaveLength(6);
  expect(closed).toEqual(opened);
});

test.each(['EMFILE', 'ENFILE'])('runs nothing where the watch could not open its files: %s', (code) => {
  const { opened, closed } = allowFiles(5, Object.assign(new Error('no more files'), { code }));
  const work = vi.fn(() => 5);
  expect(() => runInTimeBox(work, 1000)).toThrow(TooManyOpenFiles);
  expect(work).not.toHaveBeenCalled();
  expect(closed).toEqual(opened);
});

test('throws another error of the file system as it is', () => {
  const error = new Error('no such device');
  allowFiles(0, error);
  expect(() => runInTimeBox(() => 5, 1000)).toThrow(error);
});
