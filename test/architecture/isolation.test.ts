import { expect, test } from 'vitest';

test('nothing of the environment of whoever runs the tests reaches git or uwf', () => {
  const names = Object.keys(process.env).filter((name) => /^(GIT|UWF)_/.test(name));
  expect(names.toSorted()).toEqual(['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_NOSYSTEM', 'GIT_TERMINAL_PROMPT', 'UWF_TRUST']);
  expect(process.env['GIT_CONFIG_GLOBAL']).toBe('/dev/null');
});

test('times are told in UTC', () => {
  expect(new Date(0).getTimezoneOffset()).toBe(0);
});
