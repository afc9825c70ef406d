import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
} from '../../helpers/temporary-repository.ts';

const program = join(packageRoot(), 'bin', 'uwf.js');
/** A pager that says who it is. */
const pager = (name: string): string => `sed 1s/^/${name}:/`;

/** What a terminal shows of a list that is longer than it. */
function showList(settings: Record<string, string>, ofUser?: string): string {
  const { dir, git } = createTemporaryRepository();
  git('config', 'core.pager', pager('repository'));
  const home = createTemporaryFolder();
  const config = join(home, '.gitconfig');
  writeFileSync(config, ofUser === undefined ? '' : `[core]\n\tpager = "${ofUser}"\n`);
  const env = { ...isolatedGitEnvironment, GIT_CONFIG_GLOBAL: config, TERM: 'xterm', NO_COLOR: '1', ...settings };
  const line = `stty rows 5; '${process.execPath}' '${program}' schema list`;
  return spawnSync('script', ['-qfec', line, '/dev/null'], { cwd: dir, env, encoding: 'utf8' }).stdout.slice(0, 40);
}

test.each([
  ['UWF_PAGER', { UWF_PAGER: pager('own'), GIT_PAGER: pager('git'), PAGER: pager('all') }, pager('user'), 'own:'],
  ['GIT_PAGER', { GIT_PAGER: pager('git'), PAGER: pager('all') }, pager('user'), 'git:'],
  ["core.pager of the user's own configuration", { PAGER: pager('all') }, pager('user'), 'user:'],
  ['PAGER, whatever the repository says', { PAGER: pager('all') }, undefined, 'all:'],
  ['none for cat', { PAGER: 'cat' }, undefined, 'HASH'],
])('what is long is shown by %s', (_what, settings, ofUser, shown) => {
  expect(showList(settings, ofUser)).toMatch(new RegExp(`^${shown}`, 'u'));
});
