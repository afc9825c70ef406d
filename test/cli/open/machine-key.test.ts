import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { machineKey } from '../../../src/cli/open/open-repository.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

test('a key is made once, for this user alone', () => {
  const state = createTemporaryFolder();
  const key = machineKey({ XDG_STATE_HOME: state }, 'k');
  expect(key).toHaveLength(32);
  expect(machineKey({ XDG_STATE_HOME: state }, 'k')).toEqual(key);
  expect(machineKey({ XDG_STATE_HOME: state }, 'other')).not.toEqual(key);
  expect(statSync(join(state, 'uwf', 'k')).mode & 0o777).toBe(0o600);
});

test('where no key can be kept there is one for the process, and nothing is made', () => {
  const state = createTemporaryFolder();
  const env = { HOME: join(state, 'nobody') };
  expect(machineKey(env, 'k')).not.toEqual(machineKey(env, 'k'));
  expect(readdirSync(state)).toEqual([]);
  writeFileSync(join(state, 'uwf'), 'no folder');
  expect(machineKey({ XDG_STATE_HOME: state }, 'k')).toHaveLength(32);
});

test('a file that holds no key is left alone', () => {
  const state = createTemporaryFolder();
  machineKey({ XDG_STATE_HOME: state }, 'k');
  const path = join(state, 'uwf', 'k');
  chmodSync(path, 0o600);
  writeFileSync(path, 'short');
  expect(machineKey({ XDG_STATE_HOME: state }, 'k')).toHaveLength(32);
  expect(statSync(path).size).toBe(5);
});
