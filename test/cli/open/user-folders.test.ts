import { expect, test } from 'vitest';

import { configFolder, stateFolder } from '../../../src/cli/open/open-repository.ts';

test('the folders of a user are those of the XDG specification', () => {
  expect(configFolder({ HOME: '/home/a' })).toBe('/home/a/.config/uwf');
  expect(stateFolder({ HOME: '/home/a' })).toBe('/home/a/.local/state/uwf');
  expect(configFolder({ HOME: '/home/a', XDG_CONFIG_HOME: '/etc/a' })).toBe('/etc/a/uwf');
  expect(stateFolder({ HOME: '/home/a', XDG_STATE_HOME: '/var/a' })).toBe('/var/a/uwf');
});

test('a relative or empty path is ignored', () => {
  expect(configFolder({ HOME: '/home/a', XDG_CONFIG_HOME: '' })).toBe('/home/a/.config/uwf');
  expect(stateFolder({ HOME: '/home/a', XDG_STATE_HOME: 'state' })).toBe('/home/a/.local/state/uwf');
});

test('a home that is no absolute path is no home: a folder of a repository could pass for it', () => {
  expect(() => configFolder({ HOME: 'home' })).toThrow("$HOME is no absolute path: 'home'");
});
