import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseObjectId } from '../../../../src/git/format/object-id.ts';
import { openRepository } from '../../../../src/git/open-repository.ts';
import { readBlob, readCommit, readTree } from '../../../../src/git/stores/read.ts';
import { parseRefName } from '../../../../src/git/format/refs.ts';
import { backends } from '../../../helpers/each-backend.ts';
import { appendCommit } from '../../../helpers/small-thread.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  runGit,
} from '../../../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../../../helpers/temporary-repository.ts';

const thread = parseRefName('refs/threads/one');

function withCommits(count = 1): TemporaryRepository {
  const repository = createTemporaryRepository();
  for (let number = 1; number <= count; number += 1) {
    repository.git('commit', '--quiet', '--allow-empty', '-m', `commit ${number}`);
  }
  return repository;
}

describe('a linked worktree', () => {
  test('shares refs and objects with the main one: what one writes, git and the other see', async () => {
    const main = withCommits();
    const linked = join(createTemporaryFolder(), 'linked');
    main.git('worktree', 'add', '--quiet', linked);
    const here = await openRepository(linked);
    const there = await main.open();
    const first = await appendCommit(here, thread, 'from the linked worktree');
    expect(await there.refs.read(thread)).toBe(first);
    const second = await appendCommit(there, thread, 'from the main worktree');
    expect(await here.refs.list('refs/threads/')).toEqual([{ name: thread, id: second }]);
    expect(main.git('rev-parse', thread)).toBe(second);
    expect(runGit(linked, ['log', '--format=%s', thread])).toBe('from the main worktree\nfrom the linked worktree');
    // Nothing landed where git never looks.
    const own = readdirSync(join(main.dir, '.git/worktrees/linked'), { recursive: true }) as string[];
    expect(own.filter((path) => path.includes('threads') || /objects|pack/.test(path))).toEqual([]);
    expect(here.stateDir).toBe(there.stateDir);
    await here.close();
    await there.close();
    expectCleanFsck(main.dir);
  });

  test('has a HEAD of its own', async () => {
    const main = withCommits(2);
    const linked = join(createTemporaryFolder(), 'linked');
    main.git('worktree', 'add', '--quiet', '--detach', linked, 'HEAD~1');
    const head = parseRefName('HEAD');
    const here = await openRepository(linked);
    const there = await main.open();
    expect(await here.refs.read(head)).toBe(main.git('rev-parse', 'main~1'));
    expect(await there.refs.read(head)).toBe(main.git('rev-parse', 'main'));
    await here.close();
    await there.close();
  });
});

describe.each(backends)('%s works in', (_name, open) => {
  async function expectUsable(dir: string): Promise<void> {
    const repository = await open(dir);
    await appendCommit(repository, thread, 'one');
    const second = await appendCommit(repository, thread, 'two');
    expect(runGit(dir, ['rev-parse', thread])).toBe(second);
    expect(runGit(dir, ['log', '--format=%s', thread])).toBe('two\none');
    expect(runGit(dir, ['show', `${thread}:output.md`])).toBe('two');
    await repository.close();
    expectCleanFsck(dir);
  }

  test('a bare repository', async () => {
    await expectUsable(createTemporaryRepository({ bare: true }).dir);
  });

  test('a repository without any commit', async () => {
    const { dir } = createTemporaryRepository();
    const repository = await open(dir);
    expect(await repository.refs.read(parseRefName('HEAD'))).toBeUndefined();
    await repository.close();
    await expectUsable(dir);
  });

  test('a submodule, leaving the repository around it alone', async () => {
    const source = withCommits();
    const outer = withCommits();
    outer.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', source.dir, 'sub');
    await expectUsable(join(outer.dir, 'sub'));
    expect(outer.git('for-each-ref', 'refs/threads')).toBe('');
    expect(source.git('for-each-ref', 'refs/threads')).toBe('');
    expect(existsSync(join(outer.dir, '.git/modules/sub/refs/threads/one'))).toBe(true);
  });

  test('a shallow clone, whose oldest commit names a parent that is not there', async () => {
    const source = withCommits(3);
    const clone = join(createTemporaryFolder(), 'clone');
    runGit(source.dir, ['clone', '--quiet', '--depth=1', `file://${source.dir}`, clone]);
    const repository = await open(clone);
    const head = await repository.refs.read(parseRefName('HEAD'));
    const [parent] = (await readCommit(repository.objects, head!)).parents;
    expect(parent).toBe(source.git('rev-parse', 'HEAD~1'));
    expect(await repository.objects.read(parent!)).toBeUndefined();
    await repository.close();
    await expectUsable(clone);
  });

  test('a repository in the middle of a rebase', async () => {
    const repository = withCommits(2);
    mkdirSync(join(repository.dir, '.git/rebase-merge'));
    repository.git('checkout', '--quiet', '--detach', 'HEAD~1');
    await expectUsable(repository.dir);
    expect(repository.git('rev-parse', 'HEAD')).toBe(repository.git('rev-parse', 'main~1'));
  });

  test('a repository with a remote, tags and packed refs, and touches none of them', async () => {
    const source = withCommits(2);
    source.git('tag', '-a', '-m', 'a tag', 'v1');
    const clone = join(createTemporaryFolder(), 'clone');
    runGit(source.dir, ['clone', '--quiet', source.dir, clone]);
    runGit(clone, ['pack-refs', '--all']);
    const before = runGit(clone, ['for-each-ref']);
    await expectUsable(clone);
    expect(runGit(clone, ['for-each-ref', 'refs/heads', 'refs/remotes', 'refs/tags'])).toBe(before);
  });

  test('a repository with replace refs: it reads what the id says, not what replaces it', async () => {
    const repository = withCommits(2);
    const head = parseObjectId(repository.git('rev-parse', 'HEAD'));
    repository.git('replace', '--graft', head);
    expect(repository.git('rev-list', '--count', 'HEAD')).toBe('1');
    const opened = await open(repository.dir);
    expect((await readCommit(opened.objects, head)).parents).toHaveLength(1);
    await opened.close();
  });

  test('a repository with a submodule, whose gitlink is read as such and never followed', async () => {
    const source = withCommits(2);
    const outer = withCommits();
    outer.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', source.dir, 'sub');
    outer.git('commit', '--quiet', '-m', 'with a submodule');
    const repository = await open(outer.dir);
    const head = await repository.refs.read(parseRefName('HEAD'));
    const entries = await readTree(repository.objects, (await readCommit(repository.objects, head!)).tree);
    const link = entries.find((entry) => entry.name === 'sub');
    expect(link).toMatchObject({ mode: '160000', id: source.git('rev-parse', 'HEAD') });
    expect(await repository.objects.read(link!.id)).toBeUndefined();
    await repository.close();
  });
});

describe('objects that lie elsewhere are found on a disk', () => {
  test('in the alternates of a shared clone, and in theirs', async () => {
    const source = withCommits(2);
    const parent = createTemporaryFolder();
    runGit(parent, ['clone', '--quiet', '--shared', source.dir, 'one']);
    runGit(parent, ['clone', '--quiet', '--shared', join(parent, 'one'), 'two']);
    const clone = join(parent, 'two');
    const repository = await openRepository(clone);
    const head = await repository.refs.read(parseRefName('HEAD'));
    expect((await readCommit(repository.objects, head!)).message).toBe('commit 2\n');
    await appendCommit(repository, thread, 'on borrowed objects');
    await repository.close();
    expectCleanFsck(clone);
    // What is written goes into the clone, not into what it borrows from.
    expect(source.git('for-each-ref', 'refs/threads')).toBe('');
    expectCleanFsck(source.dir);
  });

  test('in GIT_ALTERNATE_OBJECT_DIRECTORIES and GIT_OBJECT_DIRECTORY', async () => {
    const source = withCommits();
    const { dir } = createTemporaryRepository();
    const head = parseObjectId(source.git('rev-parse', 'HEAD'));
    const plain = await openRepository(dir);
    expect(await plain.objects.has(head)).toBe(false);
    await plain.close();
    const objects = join(source.dir, '.git/objects');
    for (const env of [
      { GIT_ALTERNATE_OBJECT_DIRECTORIES: objects },
      { GIT_OBJECT_DIRECTORY: objects },
      // Relative to the folder that was named, wherever this process runs.
      { GIT_OBJECT_DIRECTORY: relative(dir, objects) },
    ]) {
      const repository = await openRepository(dir, { env });
      expect((await readCommit(repository.objects, head)).message).toBe('commit 1\n');
      await repository.close();
    }
  });
});

describe('the environment decides where things are written', () => {
  test('GIT_DIR, from any folder', async () => {
    const target = withCommits();
    const elsewhere = createTemporaryRepository();
    const repository = await openRepository(elsewhere.dir, { env: { GIT_DIR: join(target.dir, '.git') } });
    await appendCommit(repository, thread, 'one');
    await repository.close();
    expect(target.git('log', '--format=%s', thread)).toBe('one');
    expect(elsewhere.git('for-each-ref')).toBe('');
    expectCleanFsck(target.dir);
  });

  test('GIT_COMMON_DIR, for refs and objects', async () => {
    const shared = createTemporaryRepository({ bare: true });
    const { dir } = createTemporaryRepository();
    const env = { GIT_DIR: join(dir, '.git'), GIT_COMMON_DIR: shared.dir };
    const repository = await openRepository(dir, { env });
    const commit = await appendCommit(repository, thread, 'one');
    expect(repository.stateDir).toBe(join(shared.dir, 'uwf'));
    await repository.close();
    expect(shared.git('rev-parse', thread)).toBe(commit);
    expect(existsSync(join(dir, '.git/refs/threads'))).toBe(false);
    expectCleanFsck(shared.dir);
  });

  test('and without being told, the library does not look at it', async () => {
    const { dir } = createTemporaryRepository();
    process.env['GIT_DIR'] = '/nowhere';
    try {
      const repository = await openRepository(dir);
      expect(repository.location?.gitDir).toBe(join(dir, '.git'));
      await repository.close();
    } finally {
      delete process.env['GIT_DIR'];
    }
  });
});

test.each(backends)(
  '%s reads blobs as they are, whatever filters and line ends are configured',
  async (_name, open) => {
    const repository = createTemporaryRepository();
    repository.git('config', 'core.autocrlf', 'true');
    const id = parseObjectId(runGit(repository.dir, ['hash-object', '-w', '--stdin', '--no-filters'], 'a\r\nb\n'));
    const opened = await open(repository.dir);
    expect(Buffer.from(await readBlob(opened.objects, id)).toString()).toBe('a\r\nb\n');
    await opened.close();
  },
);
