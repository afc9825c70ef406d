import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { takeSnapshot, type Snapshot } from '../../../src/git/worktree/snapshot.ts';
import { heldToPermissions } from '../../helpers/held-to-permissions.ts';
import { runTypeScript } from '../../helpers/run-typescript.ts';
import {
  createTemporaryRepository,
  isolatedGitEnvironment as env,
  runGit,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

type Scene = TemporaryRepository & { write: (path: string, data: string | Uint8Array) => void };

const MIB = 1024 * 1024;

/** A repository with two files; `prepare` makes it awkward. */
async function snapshotOf(prepare: (scene: Scene) => void, maxBytes = 50 * MIB): Promise<Recorded> {
  const temporary = createTemporaryRepository();
  const { dir, git } = temporary;
  const write = (path: string, data: string | Uint8Array): void => {
    mkdirSync(join(dir, path, '..'), { recursive: true });
    writeFileSync(join(dir, path), data);
  };
  write('kept', 'kept\n');
  write('sub/kept', 'kept\n');
  git('add', '-A');
  git('commit', '-qm', 'first');
  prepare({ ...temporary, write });
  write('fine', 'fine\n');
  const before = [git('status', '--porcelain=v2'), readFileSync(join(dir, '.git/index')), git('config', '--list')];
  const repository = await temporary.open();
  const { location } = repository;
  if (!location) throw new Error('the repository is on a disk');
  const snapshot = await takeSnapshot(repository, { location, env, limits: { maxBytes, timeoutMs: 60_000 } });
  const after = [git('status', '--porcelain=v2'), readFileSync(join(dir, '.git/index')), git('config', '--list')];
  expect(after).toEqual(before);
  // The tree's own objects would be written along with a commit.
  for (const { type, data } of snapshot.objects) runGit(dir, ['hash-object', '-w', '-t', type, '--stdin'], data);
  const files = git('ls-tree', '-r', '--name-only', snapshot.tree).split('\n');
  snapshot.release();
  await repository.close();
  return { snapshot, files, git };
}

type Recorded = { snapshot: Snapshot; files: string[]; git: TemporaryRepository['git'] };

const cases: [what: string, prepare: (scene: Scene) => void, path: string | undefined, reason: RegExp][] = [
  [
    'a nested repository without a commit',
    ({ dir, write }) => {
      write('nested/file', 'x');
      runGit(join(dir, 'nested'), ['init', '-q']);
    },
    'nested',
    /repository of its own without a commit; commit in it, or ignore it/,
  ],
  [
    'a nested repository with a commit',
    ({ dir, write }) => {
      write('nested/file', 'x');
      runGit(join(dir, 'nested'), ['init', '-q']);
      runGit(join(dir, 'nested'), ['add', '-A']);
      runGit(join(dir, 'nested'), ['commit', '-qm', 'nested']);
    },
    'nested/',
    /commit [0-9a-f]{12} is named and its files are not recorded/,
  ],
  [
    'a filter that is required and missing',
    ({ git, write }) => {
      git('config', 'filter.big.required', 'true');
      git('config', 'filter.big.clean', 'no-such-program %f');
      write('.gitattributes', '*.bin filter=big\n');
      write('a.bin', 'x');
    },
    'a.bin',
    /needs the filter 'big', which fails/,
  ],
  [
    'an encoding that a file does not have',
    ({ write }) => {
      write('.gitattributes', '*.u16 working-tree-encoding=UTF-16\n');
      write('bad.u16', 'no byte order mark');
    },
    'bad.u16',
    /cannot be added: .*BOM/,
  ],
  ['a name that is .git elsewhere', ({ write }) => write('sub/GIT~1', 'x'), 'sub/GIT~1', /invalid path/],
  [
    'a pipe',
    ({ dir }) => void execFileSync('mkfifo', [join(dir, 'sub/pipe')]),
    'sub/pipe',
    /socket, a pipe or a device; ignore it/,
  ],
  [
    'a pipe in the place of a file',
    ({ dir }) => {
      rmSync(join(dir, 'sub/kept'));
      execFileSync('mkfifo', [join(dir, 'sub/kept')]);
    },
    'sub/kept',
    /socket, a pipe or a device/,
  ],
  [
    'changes in a submodule',
    ({ dir, git, write }) => {
      const library = createTemporaryRepository();
      library.git('commit', '-qm', 'library', '--allow-empty');
      git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', library.dir, 'library');
      git('commit', '-qm', 'submodule');
      write('library/new', 'x');
      expect(dir).not.toBe('');
    },
    'library',
    /submodule with changes that are not recorded/,
  ],
  [
    'core.safecrlf',
    ({ git, write }) => {
      git('config', 'core.safecrlf', 'true');
      git('config', 'core.autocrlf', 'input');
      write('crlf', 'a\r\nb\n');
    },
    undefined,
    /crlf/,
  ],
  [
    'a lock on the index',
    ({ dir, write }) => {
      write('.git/index.lock', '');
      expect(dir).not.toBe('');
    },
    undefined,
    /./,
  ],
  [
    'a file outside of the sparse cone',
    ({ git, write }) => {
      git('sparse-checkout', 'set', '--cone', '--sparse-index', 'elsewhere');
      write('.uwf/config.yaml', 'x');
    },
    undefined,
    /./,
  ],
];

describe('a snapshot with', () => {
  test.each(cases)('%s holds all else, and names it', async (_, prepare, path, reason) => {
    const { snapshot, files } = await snapshotOf(prepare);
    expect(snapshot).not.toHaveProperty('shortfall');
    expect(files).toEqual(expect.arrayContaining(['fine', 'kept', 'sub/kept']));
    if (path === undefined) expect(snapshot).not.toHaveProperty('missing');
    else {
      expect(snapshot.missing).toEqual({ count: 1, files: [{ path, reason: expect.stringMatching(reason) }] });
    }
  });

  test('ignored pipes, and links to them, names none', async () => {
    const { snapshot } = await snapshotOf(({ dir, write }) => {
      write('.gitignore', 'pipe\n');
      execFileSync('mkfifo', [join(dir, 'pipe')]);
      symlinkSync('pipe', join(dir, 'link'));
    });
    expect(snapshot).not.toHaveProperty('missing');
  });

  test('a link in the place of a folder does not look behind it', async () => {
    const { snapshot, git } = await snapshotOf(({ dir, write }) => {
      write('dev/null', 'tracked');
      runGit(dir, ['add', '-A']);
      runGit(dir, ['commit', '-qm', 'dev']);
      rmSync(join(dir, 'dev'), { recursive: true });
      symlinkSync('/dev', join(dir, 'dev'));
    });
    expect(snapshot).not.toHaveProperty('missing');
    expect(git('ls-tree', snapshot.tree, 'dev')).toMatch(/^120000/);
  });

  test('files and folders that cannot be read names them', async () => {
    const { dir, git } = createTemporaryRepository();
    git('commit', '-qm', 'first', '--allow-empty');
    writeFileSync(join(dir, 'secret'), 'x', { mode: 0 });
    mkdirSync(join(dir, 'closed'), { mode: 0 });
    writeFileSync(join(dir, 'fine'), 'fine\n');
    const script = join(import.meta.dirname, '../../faults/take-a-snapshot.ts');
    const { stdout, stderr } = await runTypeScript(script, [dir], { env, through: heldToPermissions });
    // Otherwise the folder could not be removed.
    chmodSync(join(dir, 'closed'), 0o700);
    expect(stderr).toBe('');
    const paths = ['secret', 'closed'].map((path) => expect.objectContaining({ path }));
    expect(JSON.parse(stdout)).toEqual({ missing: { count: 2, files: paths } });
  });

  test.each([[''], ['* text=auto\n'], ['* filter=same\n']])(
    'attributes %j holds no more than it may',
    async (attributes) => {
      const { snapshot, files, git } = await snapshotOf(
        ({ git: run, write }) => {
          run('config', 'filter.same.clean', 'cat');
          write('.gitattributes', attributes);
          write('large', Buffer.alloc(3 * MIB, 'line\n'));
          write('middle', Buffer.alloc(MIB, 'text\n'));
          write('sub/kept', Buffer.alloc(MIB, 'more\n'));
        },
        2 * MIB + 100,
      );
      expect(snapshot.missing).toEqual({
        count: 1,
        files: [{ path: 'large', reason: expect.stringMatching(/has 3145728 bytes, .*raise snapshot.maxBytes/) }],
      });
      expect(files).toEqual(expect.arrayContaining(['fine', 'middle']));
      expect(git('cat-file', '-s', `${snapshot.tree}:sub/kept`)).toBe(`${MIB}`);
    },
  );

  test('files that only look changed counts none of them', async () => {
    const { snapshot } = await snapshotOf(({ git, write }) => {
      write('large', Buffer.alloc(MIB, 'line\n'));
      write('larger', Buffer.alloc(MIB, 'l'));
      git('add', '-A');
      git('commit', '-qm', 'large');
      write('large', Buffer.alloc(MIB, 'line\n'));
      write('larger', Buffer.alloc(MIB, 'l'));
    }, 1.5 * MIB);
    expect(snapshot).not.toHaveProperty('missing');
  });
});
