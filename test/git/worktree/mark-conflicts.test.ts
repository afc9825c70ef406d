import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseObjectId } from '../../../src/git/format/object-id.ts';
import { openRepository } from '../../../src/git/open-repository.ts';
import { discoverRepository } from '../../../src/git/repository/discover.ts';
import { markConflicts, mergeTrees } from '../../../src/git/worktree/merge-trees.ts';
import { restoreWorkTree } from '../../../src/git/worktree/own-work-tree.ts';
import { takeSnapshot } from '../../../src/git/worktree/snapshot.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment as env,
  runGit,
} from '../../helpers/temporary-repository.ts';
import { tryGit } from '../../thread/code/generated-history.ts';

const text = (first: string): string => `${first}\n${'line\n'.repeat(20)}`;

const prepare = [
  { sparse: 'full work tree', commands: [] },
  { sparse: 'sparse index', commands: [['sparse-checkout', 'set', '--cone', '--sparse-index', 'a']] },
];

test.each(prepare)(
  'a $sparse shows conflicts as git merge leaves them, and a snapshot has what resolves them',
  async ({ commands }) => {
    const { dir, git } = createTemporaryRepository();
    const commit = (files: Record<string, string | null>): string => {
      for (const [path, content] of Object.entries(files)) {
        if (content === null) rmSync(join(dir, path));
        else writeFileSync(join(dir, path), content);
      }
      git('add', '--all');
      git('commit', '--quiet', '-m', 'files');
      return git('rev-parse', 'HEAD');
    };
    runGit(dir, [
      'update-index',
      '--add',
      '--cacheinfo',
      `100644,${runGit(dir, ['hash-object', '-w', '--stdin'], 'x')},a/x`,
    ]);
    git('checkout-index', '--all');
    const base = commit({ f: text('base'), gone: text('base'), old: 'a\nb\nc\nd\n', 'é\n': text('base') });
    git('checkout', '--quiet', '-b', 'branch/theirs');
    const theirs = commit({
      f: text('theirs'),
      gone: text('theirs'),
      old: null,
      right: 'a\nb\nc\nd\n',
      new: '2',
      'é\n': text('t'),
    });
    git('checkout', '--quiet', 'main');
    const ours = commit({ f: text('ours'), gone: null, old: null, left: 'a\nb\nc\nd\n', new: '1', 'é\n': text('o') });

    const repository = await openRepository(dir, { env });
    onTestFinished(() => repository.close());
    const { location } = repository;
    if (location === undefined) throw new Error('the repository is on a disk');
    const [from, head] = [parseObjectId(base), parseObjectId(ours)];
    const merged = await mergeTrees({ repository, env }, from, head, parseObjectId(theirs));
    await (await repository.objects.write(merged.objects)).release();
    for (const command of commands) git(...command);
    const work = join(createTemporaryFolder(), 'work');
    await restoreWorkTree({ location, env }, { tree: merged.tree, commit: head }, work);
    const there = await discoverRepository(work, env);
    await markConflicts({ location: there, env }, merged.stages ?? []);

    for (const command of commands) git(...command.slice(0, 1), 'disable');
    expect(tryGit(dir, 'merge', 'branch/theirs').code).toBe(1);
    expect(runGit(work, ['status', '--porcelain'])).toBe(git('status', '--porcelain'));
    expect(runGit(work, ['status', '--porcelain'])).toContain('UU f\n');
    expect(runGit(work, ['ls-files', '--unmerged'])).toBe(git('ls-files', '--unmerged'));

    for (const name of ['f', 'é\n', 'new', 'left']) writeFileSync(join(work, name), 'resolved\n');
    rmSync(join(work, 'gone'));
    rmSync(join(work, 'right'));
    const limits = { maxBytes: 1e6, timeoutMs: 60_000 };
    const snapshot = await takeSnapshot(repository, { location: there, env, limits });
    await (await repository.objects.write(snapshot.objects)).release();
    snapshot.release();
    expect(snapshot.missing).toBeUndefined();
    expect(runGit(dir, ['ls-tree', '-r', '-z', '--name-only', snapshot.tree]).split('\0')).toEqual([
      'a/x',
      'f',
      'left',
      'new',
      'é\n',
      '',
    ]);
    expect(runGit(dir, ['show', `${snapshot.tree}:f`])).toBe('resolved');
  },
);
