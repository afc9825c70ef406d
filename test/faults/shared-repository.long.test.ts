import { spawnSync } from 'node:child_process';
import { lstatSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../src/git/system/process-identity.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import { isolatedGitEnvironment } from '../helpers/temporary-repository.ts';

/** Runs a program in a folder with a umask that lets nobody else in. */
function runAlone(cwd: string, argv: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', 'umask 077 && exec "$@"', 'sh', ...argv], {
    cwd,
    env: isolatedGitEnvironment,
    encoding: 'utf8',
  });
  expect([argv, status, stderr]).toEqual([argv, 0, expect.anything()]);
  return stdout;
}

function modesBelow(folder: string): Map<string, number> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return new Map(names.map((name) => [name, lstatSync(join(folder, name)).mode]));
}

const isFolder = (mode: number): boolean => (mode & 0o170000) === 0o040000;

describe.each(['group', 'true', '1', 'all', '2', '0640', '0660', '0600', 'umask', 'false', '0'])(
  'in a repository that is shared as %s',
  (value) => {
    test('uwf gives what it makes the permissions that git gives', () => {
      const { dir, git } = createLoopRepository();
      git('config', 'core.sharedRepository', value);
      const gitDir = join(dir, '.git');
      const before = modesBelow(gitDir);
      // What git makes: a folder with a file in it, and an object.
      writeFileSync(join(dir, 'x'), 'x');
      const tip = runAlone(dir, ['sh', '-c', 'git commit-tree $(git mktree </dev/null) -m x']).trim();
      runAlone(dir, ['git', 'update-ref', 'refs/by/git/ref', tip]);
      const folder = lstatSync(join(gitDir, 'refs/by/git')).mode & 0o7777;
      const file = lstatSync(join(gitDir, 'refs/by/git/ref')).mode & 0o7777;
      const object = lstatSync(join(gitDir, 'objects', tip.slice(0, 2), tip.slice(2))).mode & 0o7777;
      for (const name of modesBelow(gitDir).keys()) before.set(name, 0);

      const uwf = join(packageRoot(), 'bin', 'uwf.js');
      const { thread } = JSON.parse(
        runAlone(dir, [process.execPath, uwf, 'thread', 'start', 'loop', '-p', 'x', '--json']),
      ) as { thread: string };
      runAlone(dir, [process.execPath, uwf, 'thread', 'step', thread]);
      runAlone(dir, [process.execPath, uwf, 'cas', 'put', 'kept', '--thread', thread]);
      runAlone(dir, [process.execPath, uwf, 'thread', 'list']);
      const made = [...modesBelow(gitDir)].filter(([name]) => !before.has(name));
      expect(made.length).toBeGreaterThan(8);
      for (const [name, mode] of made) {
        const isPack = /\.(pack|idx|rev)$/.test(name);
        const wanted = isFolder(mode) ? folder : isPack ? object : file;
        expect([name, (mode & 0o7777).toString(8)]).toEqual([name, wanted.toString(8)]);
      }
    });
  },
);
