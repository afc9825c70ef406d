import { expect, test } from 'vitest';

import { nearestName } from '../../src/text/nearest-name.ts';

const known = ['agents', 'defaultAgent', 'roles', 'limits', 'to'];

test.each([
  ['agnets', 'agents'],
  ['defaultagent', 'defaultAgent'],
  ['role', 'roles'],
  ['ot', 'to'],
  ['limits', 'limits'],
  ['something', undefined],
  ['x', undefined],
  ['', undefined],
])('%j was meant to be %j', (name, meant) => {
  expect(nearestName(name, known)).toBe(meant);
});

test('of two that are near the nearer one is meant', () => {
  expect(nearestName('tests', ['test', 'texts', 'tests-2', 'test2'])).toBe('test');
});
