import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createLoopRepository, type CliRepository } from '../helpers/cli.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment,
} from '../helpers/temporary-repository.ts';

const program = join(import.meta.dirname, '../../bin/uwf.js');

/** Runs the program where no program can be found. */
function uwf({ dir }: CliRepository, ...words: string[]): { code: number | null; stdout: string; stderr: string } {
  const env = { ...isolatedGitEnvironment, PATH: createTemporaryFolder() };
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...words], {
    cwd: dir,
    env,
    encoding: 'utf8',
  });
  return { code: status, stdout, stderr };
}

describe('without git', () => {
  test('what is there is read, and what writes says that it needs git', async () => {
    const home = createLoopRepository();
    expect(await home.uwf(['run', 'loop', '-p', 'a task'])).toMatchObject({ code: 0 });
    for (const words of [
      ['run', 'loop', '-p', 'another task'],
      ['thread', 'start', 'loop', '-p', 'another task'],
      ['cas', 'put', 'a text'],
    ]) {
      const { code, stderr } = uwf(home, ...words);
      expect({ words, code }).toEqual({ words, code: 1 });
      expect(stderr).toContain("there is no program 'git' here");
    }
    const [thread = ''] = home.git('for-each-ref', '--format=%(refname:lstrip=-1)', 'refs/history').split('\n');
    for (const words of [
      ['thread', 'list', '--all'],
      ['thread', 'show', thread],
      ['thread', 'verify', thread],
      ['thread', 'export', thread],
      ['log', thread],
      ['workflow', 'list'],
      ['fsck'],
      ['reindex'],
    ]) {
      expect({ words, ...uwf(home, ...words) }).toMatchObject({ code: 0 });
    }
    home.git('fsck', '--strict', '--full');
  });

  test.each([
    ['push', '--all'],
    ['push', 'origin', '01KTWEWZ760000000000000000'],
    ['push', '01KTWEWZ760000000000000000'],
    ['push', 'https://example.com/x.git'],
    ['push', 'threads.bundle'],
    ['fetch'],
    ['fetch', 'ssh://example.com/x.git'],
    ['sync', '--all'],
    ['thread', 'list', '--remote'],
    ['thread', 'rm', '01KTWEWZ760000000000000000', '--remote'],
  ])('uwf %s %s %s %s says that it needs git', (...words) => {
    const home = createLoopRepository();
    const server = createTemporaryRepository({ bare: true });
    home.git('remote', 'add', 'origin', server.dir);
    const before = home.git('for-each-ref');
    const { code, stdout, stderr } = uwf(home, ...words);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain("there is no program 'git' here");
    expect(stderr).toContain('install git');
    expect([home.git('for-each-ref'), server.git('for-each-ref')]).toEqual([before, '']);
    expect(existsSync(join(home.dir, '.git/uwf/incoming'))).toBe(false);
  });
});
