import { expect, test } from 'vitest';
import { parseCount, parseDuration, parseMoment, parseTimeLimit } from '../../../src/cli/command-line/command.ts';

test.each([
  ['250ms', 250],
  ['30', 30_000],
  ['30s', 30_000],
  ['1.5 min', 90_000],
  ['2h', 7_200_000],
  ['3d', 259_200_000],
  ['1w', 604_800_000],
])('%s is a span of %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', 'soon', '5 parsecs', '5constructor', '-3s', '1h30'])("'%s' is no span of time", (text) => {
  expect(() => parseDuration(text)).toThrow('needs a span of time');
});

test.each(['0', '0s', '0.4ms', '999999999999999d'])("'%s' limits nothing", (text) => {
  expect(() => parseTimeLimit(text)).toThrow('needs a span of time from 1ms on');
});

test('the least limit is a millisecond', () => {
  expect(parseTimeLimit('1ms')).toBe(1);
});

const nowMs = Date.UTC(2026, 10, 21, 12);

test.each([
  ['2h', nowMs - 7_200_000],
  ['2026-11-20', Date.UTC(2026, 10, 20)],
  ['2026-11-20T10:30', Date.UTC(2026, 10, 20, 10, 30)],
  ['2026-11-20 10:30', Date.UTC(2026, 10, 20, 10, 30)],
  ['2026-11-20T10:30+02:00', Date.UTC(2026, 10, 20, 8, 30)],
])('%s is a moment', (text, ms) => {
  expect(parseMoment(text)(nowMs)).toBe(ms);
});

test.each(['', 'yesterday', '2026-13-01', '11/20/2026', '7'])("'%s' is no moment", (text) => {
  expect(() => parseMoment(text)).toThrow('needs a date');
});

test.each(['99999999999d', '100000001d'])("'%s' ago was no date", (text) => {
  expect(() => parseMoment(text)).toThrow('needs a date that there is');
});

test('the longest span ago is a date', () => {
  expect(new Date(parseMoment('100000000d')(nowMs)).toISOString()).toMatch(/^-/);
});

test.each(['0', '-1', '1.5', 'many', '1e3', ''])("'%s' is no count", (text) => {
  expect(() => parseCount(text)).toThrow('needs a whole number');
});
