import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { bundlePathOf, withoutPassword } from '../../../src/git/repository/own-programs.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';

const folder = createTemporaryFolder();
const location = { gitDir: folder, commonDir: folder, workTree: undefined };

test('a bundle is found by its path and by a URL of it', () => {
  const path = join(folder, 'a b.bundle');
  expect(bundlePathOf('a b.bundle', location)).toBe(path);
  expect(bundlePathOf(pathToFileURL(path).href, location)).toBe(path);
  writeFileSync(join(folder, 'threads'), '# v2 git bundle\n');
  expect(bundlePathOf('threads', location)).toBe(join(folder, 'threads'));
});

test.each(['file://host/threads.bundle', 'file:///a%2Fb.bundle', 'file:///100%.bundle', 'file://%/x'])(
  'a file URL that names no file of this machine is no bundle: %s',
  (url) => {
    expect(bundlePathOf(url, location)).toBeUndefined();
  },
);

test.each([
  ['https://ada:secret@host/team.git', 'https://ada@host/team.git'],
  ['ssh://git:secret@host/team.git', 'ssh://git@host/team.git'],
  ['ssh://git@host/team.git', 'ssh://git@host/team.git'],
  ['https://token@host/team.git', 'https://host/team.git'],
  ['https://token:@host/team.git', 'https://host/team.git'],
  ['https://token:x-oauth-basic@host/team.git', 'https://host/team.git'],
  ['https://:secret@host/team.git', 'https://host/team.git'],
  ['https://host/a@b.git', 'https://host/a@b.git'],
  ['/srv/team.git', '/srv/team.git'],
])('a URL is shown without a password and without a token: %s', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown);
});
