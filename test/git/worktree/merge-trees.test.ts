import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openRepository } from '../../../src/git/open-repository.ts';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import { mergeAll, mergeTrees, repeatMerge, type MergedTree } from '../../../src/git/worktree/merge-trees.ts';
import type { MergePlace } from '../../../src/git/worktree/tree-merger.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  runGit,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';
import { formatStages, mergeTreesBesideGit } from './merge-beside-git.ts';

/** Files by path; null removes one. */
type Files = Readonly<Record<string, string | null>>;

const lines = (...changed: readonly [at: number, text: string][]): string => {
  const text = Array.from({ length: 20 }, (_, at) => `line ${at}`);
  for (const [at, line] of changed) text[at] = line;
  return `${text.join('\n')}\n`;
};

/** The tree of some files on top of a base, which stays in the index. */
function treeOf({ dir, git }: TemporaryRepository, files: Files, base?: ObjectId): ObjectId {
  git('read-tree', ...(base === undefined ? ['--empty'] : [base]));
  for (const [path, content] of Object.entries(files)) {
    const id = content === null ? '0'.repeat(40) : runGit(dir, ['hash-object', '-w', '--stdin'], content);
    runGit(dir, ['update-index', '-z', '--index-info'], `${content === null ? 0 : 100644} ${id}\t${path}\0`);
  }
  return parseObjectId(git('write-tree'));
}

/** Makes a text with changed lines from random ones: more than 1 MiB, which does not get smaller. */
function noise(): typeof lines {
  const text = Array.from({ length: 60_000 }, () => randomBytes(24).toString('base64'));
  return (...changed) => {
    const all = [...text];
    for (const [at, line] of changed) all[at] = line;
    return `${all.join('\n')}\n`;
  };
}

async function placeOf({ dir }: TemporaryRepository, variables: Partial<typeof env> = {}): Promise<MergePlace> {
  const repository = await openRepository(dir, { env });
  onTestFinished(() => repository.close());
  return { repository, env: { ...env, ...variables } };
}

async function merge(repository: TemporaryRepository, base: Files, ours: Files, theirs: Files): Promise<MergedTree> {
  const from = treeOf(repository, base);
  const sides = [treeOf(repository, ours, from), treeOf(repository, theirs, from)] as const;
  return mergeTrees(await placeOf(repository), from, ...sides);
}

/** Writes the objects of a merge, as the engine does with the commit that refers to its tree. */
async function store({ repository }: MergePlace, merged: MergedTree): Promise<void> {
  const written = await repository.objects.write(merged.objects);
  await written.release();
}

describe('mergeTrees', () => {
  test.each(Array.from({ length: 4 }, (_, seed) => seed + 1))(
    'merges as a checkout does in generated history %i',
    async (seed) => {
      expect(await mergeTreesBesideGit(seed)).toMatchObject({ isCompared: true });
    },
    60_000,
  );

  test('gives the same tree whatever this machine configures', async () => {
    const repository = createTemporaryRepository();
    const { dir, git } = repository;
    const base = treeOf(repository, {
      'a/F.txt': lines(),
      'a/g': lines(),
      plain: lines(),
      '.gitattributes': 'f.txt -merge\n',
    });
    const ours = treeOf(repository, { 'a/F.txt': lines([2, 'ours']), plain: lines([2, 'ours'], [9, 'both']) }, base);
    const theirs = treeOf(
      repository,
      {
        'a/F.txt': null,
        'b/F.txt': lines([8, 'theirs']),
        'a/g': null,
        'b/g': lines(),
        plain: lines([2, 'theirs'], [9, 'both']),
      },
      base,
    );
    const wanted = await mergeTrees(await placeOf(repository), base, ours, theirs);
    expect(wanted.conflicts).toMatchObject([{ path: 'plain', kind: 'contents', keys: ['theirs'] }]);
    const configured: Record<string, string> = {
      'merge.renames': 'false',
      'diff.renames': 'false',
      'merge.conflictStyle': 'diff3',
      'merge.default': 'own',
      'merge.own.driver': 'echo own >%A',
      'merge.renormalize': 'true',
      'diff.algorithm': 'minimal',
      'core.ignoreCase': 'true',
      'core.autocrlf': 'true',
      'core.attributesFile': join(dir, 'attributes'),
    };
    for (const [name, value] of Object.entries(configured)) git('config', name, value);
    for (const file of ['attributes', '.git/info/attributes', '.gitattributes', 'home/.config/git/attributes']) {
      mkdirSync(dirname(join(dir, file)), { recursive: true });
      writeFileSync(join(dir, file), '* merge=own\n');
    }
    git('replace', git('rev-parse', `${theirs}:plain`), git('rev-parse', `${ours}:plain`));
    const variables = {
      HOME: join(dir, 'home'),
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'merge.conflictStyle',
      GIT_CONFIG_VALUE_0: 'zdiff3',
    };
    const merged = await mergeTrees(await placeOf(repository, variables), base, ours, theirs);
    expect(merged).toEqual({ ...wanted, release: merged.release });
    expect(merged.isRepeatable).toBe(true);
  });

  test('runs a configured merge driver that a file of attributes in any folder of our side names', async () => {
    const repository = createTemporaryRepository();
    repository.git('config', 'merge.own.driver', 'cat %B >>%A; test -n "$HOME" # %');
    const base = { 'a/b/.gitattributes': '*.x merge=own\n', 'a/b/f.x': 'base\n', 'c/f.x': 'base\n' };
    const changed = (text: string): Files => ({ 'a/b/f.x': `${text}\n` });
    const merged = await merge(repository, base, changed('ours'), changed('theirs'));
    await store(await placeOf(repository), merged);
    expect(repository.git('show', `${merged.tree}:a/b/f.x`)).toBe('ours\ntheirs');
    expect(merged).toMatchObject({ conflicts: [], stages: [], isRepeatable: false });
    const theirs = { ...changed('theirs'), 'c/.gitattributes': '*.x merge=own\n', 'c/f.x': 'theirs\n' };
    const ours = { 'a/b/.gitattributes': null, 'c/f.x': 'ours\n', 'a/b/f.x': 'ours\n' };
    expect(await merge(repository, base, ours, theirs)).toMatchObject({
      conflicts: [{ path: 'a/b/f.x' }, { path: 'c/f.x' }],
      isRepeatable: true,
    });
  });

  test('never runs a merge driver where a merge is repeated', async () => {
    const repository = createTemporaryRepository();
    const base = treeOf(repository, { f: 'base\n', '.gitattributes': 'f merge=own\n' });
    const [ours, theirs] = ['ours', 'theirs'].map((text) => treeOf(repository, { f: `${text}\n` }, base));
    const commit = theirs ?? base;
    repository.git('config', 'merge.own.driver', 'touch ran; exit 0');
    const place = await placeOf(repository);
    const before = repository.git('count-objects', '-v');
    const merged = await repeatMerge(place, base, ours ?? base, [{ key: 'x', commit }]);
    expect(merged.conflicts).toMatchObject([{ path: 'f', keys: ['x'] }]);
    expect(repository.git('count-objects', '-v')).toBe(before);
  });

  test('reads attributes that change between the branches, and follows no link to them', async () => {
    const repository = createTemporaryRepository();
    const { dir, git } = repository;
    const union = 'f merge=union\n';
    const base = treeOf(repository, {
      'a/.gitattributes/.gitattributes': 'x',
      'a/f': 'base\n',
      'b/.gitattributes': union,
      'b/f': 'base\n',
    });
    const ours = treeOf(repository, { 'a/f': 'ours\n', 'b/f': 'ours\n' }, base);
    const attributes = {
      'a/.gitattributes/.gitattributes': null,
      'a/.gitattributes': union,
      'b/.gitattributes': null,
    };
    const theirs = [
      { key: 'attributes', commit: treeOf(repository, attributes, base) },
      { key: 'files', commit: treeOf(repository, { 'a/f': 'theirs\n', 'b/f': 'theirs\n' }, base) },
    ];
    const place = await placeOf(repository);
    const merged = await mergeAll(place, base, ours, theirs);
    await store(place, merged);
    expect(merged.conflicts).toMatchObject([{ path: 'b/f', keys: ['files'] }]);
    expect(git('show', `${merged.tree}:a/f`)).toBe('ours\ntheirs');

    const target = runGit(dir, ['hash-object', '-w', '--stdin'], '* merge=union\n');
    git('read-tree', ours);
    git('update-index', '--add', '--cacheinfo', `120000,${target},.gitattributes`);
    const linked = parseObjectId(git('write-tree'));
    const again = await mergeTrees(place, base, linked, treeOf(repository, { 'a/f': 'theirs\n' }, base));
    expect(again.conflicts).toMatchObject([{ path: 'a/f' }]);
  });

  test('writes attributes nowhere else, whatever names a tree has', async () => {
    const repository = createTemporaryRepository();
    const { dir } = repository;
    const tree = (name: string, id: string, mode = '40000'): string => {
      const entry = Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(id, 'hex')]);
      return runGit(dir, ['hash-object', '-w', '-t', 'tree', '--literally', '--stdin'], entry);
    };
    const file = runGit(dir, ['hash-object', '-w', '--stdin'], '* -text\n');
    const evil = tree('..', tree('..', tree('.gitattributes', file, '100644')));
    const base = treeOf(repository, { f: 'base\n' });
    const place = await placeOf(repository);
    const theirs = treeOf(repository, { f: 'theirs\n' }, base);
    await mergeTrees(place, base, parseObjectId(evil), theirs).catch(() => undefined);
    expect(existsSync(join(dir, '.git/uwf/merges/.gitattributes'))).toBe(false);
    expect(readdirSync(join(dir, '.git/uwf/merges'))).toEqual([]);
  });

  test('names files whose names are not UTF-8, or have quotes and line ends', async () => {
    const repository = createTemporaryRepository();
    const { dir, git } = repository;
    const blob = (text: string): string => runGit(dir, ['hash-object', '-w', '--stdin'], text);
    const names = ['caf\xe9', '"q"', 'a\nb'];
    const side = (text: string): ObjectId => {
      git('read-tree', '--empty');
      const input = names.map((name) => `100644 ${blob(text)} 0\t${name}\0`).join('');
      runGit(dir, ['update-index', '-z', '--index-info'], Buffer.from(input, 'latin1'));
      return parseObjectId(git('write-tree'));
    };
    const merged = await mergeTrees(await placeOf(repository), side('base\n'), side('ours\n'), side('theirs\n'));
    expect(merged.conflicts.map(({ path }) => path)).toEqual(['"\\"q\\""', 'a\nb', '"caf\\351"']);
    expect(merged.stages).toHaveLength(9);
    expect(merged.stages?.at(-1)?.path).toBe('caf\xe9');
  });

  test.each([{ objectFormat: 'sha256' as const }, { bare: true }])(
    'merges in a repository with %j',
    async (options) => {
      const repository = createTemporaryRepository(options);
      const base = { f: lines() };
      const merged = await merge(repository, base, { f: lines([1, 'ours']) }, { f: lines([9, 'theirs']) });
      const place = await placeOf(repository);
      await store(place, merged);
      expect(`${repository.git('show', `${merged.tree}:f`)}\n`).toBe(lines([1, 'ours'], [9, 'theirs']));
    },
  );

  test('keeps what it made from a concurrent git gc, however much it is', async () => {
    const repository = createTemporaryRepository();
    const { dir, git } = repository;
    const text = noise();
    const merged = await merge(repository, { f: text() }, { f: text([9, 'ours']) }, { f: text([5000, 'theirs']) });
    expect(merged.objects.length).toBe(0);
    git('gc', '--quiet', '--prune=now');
    expect(`${git('show', `${merged.tree}:f`)}\n`).toBe(text([9, 'ours'], [5000, 'theirs']));
    expect(readdirSync(join(dir, '.git/uwf/merges'))).toEqual([]);
    merged.release();
    expect(readdirSync(join(dir, '.git/objects/pack')).filter((name) => name.endsWith('.keep'))).toEqual([]);
    expectCleanFsck(dir);
  });

  test('says that git is too old', async () => {
    const repository = createTemporaryRepository();
    const folder = createTemporaryFolder();
    writeFileSync(join(folder, 'git'), '#!/bin/sh\n[ "$5" = --version ] && echo git version 2.37.9\n');
    chmodSync(join(folder, 'git'), 0o755);
    const base = treeOf(repository, {});
    const place = await placeOf(repository, { PATH: `${folder}:${env['PATH'] ?? ''}` });
    await expect(mergeTrees(place, base, base, base)).rejects.toMatchObject({
      code: 'git-too-old',
      message: 'git is 2.37.9, too old to merge branches',
      hint: 'install git 2.38 or newer',
    });
  });

  test('refuses what is neither a commit nor a tree, and what is missing', async () => {
    const repository = createTemporaryRepository();
    const base = treeOf(repository, { f: 'f' });
    const place = await placeOf(repository);
    const blob = parseObjectId(repository.git('rev-parse', `${base}:f`));
    await expect(mergeTrees(place, base, base, blob)).rejects.toMatchObject({ code: 'corrupt-object' });
    await expect(mergeTrees(place, base, base, parseObjectId('1'.repeat(40)))).rejects.toMatchObject({
      code: 'object-missing',
    });
    rmSync(join(repository.dir, '.git/objects', blob.slice(0, 2), blob.slice(2)));
    const [ours, theirs] = ['ours', 'theirs'].map((f) => treeOf(repository, { f }, base));
    await expect(mergeTrees(place, base, ours ?? base, theirs ?? base)).rejects.toMatchObject({
      code: 'merge-refused',
    });
  });
});

describe('mergeAll', () => {
  test('merges branches in turn and names those that a conflict concerns', async () => {
    const repository = createTemporaryRepository();
    const base = treeOf(repository, { f: lines(), g: lines(), h: lines() });
    const theirs = [
      { key: 'one', commit: treeOf(repository, { f: lines([1, 'one']), new: 'one\n' }, base) },
      { key: 'two/x y', commit: treeOf(repository, { f: lines([10, 'two']), g: null }, base) },
      { key: 'three', commit: treeOf(repository, { f: lines([1, 'three']), g: lines([3, 'three']) }, base) },
    ];
    const place = await placeOf(repository);
    const merged = await mergeAll(place, base, treeOf(repository, { h: lines([1, 'ours']) }, base), theirs);
    await store(place, merged);
    expect(merged.conflicts).toEqual([
      {
        path: 'f',
        paths: ['f'],
        kind: 'contents',
        message: 'CONFLICT (content): Merge conflict in f',
        keys: ['one', 'two/x y', 'three'],
      },
      {
        path: 'g',
        paths: ['g'],
        kind: 'modify/delete',
        message:
          'CONFLICT (modify/delete): g deleted in HEAD and modified in branch/three.  Version branch/three of g left in tree.',
        keys: ['two/x y', 'three'],
      },
    ]);
    expect(`${repository.git('show', `${merged.tree}:f`)}\n`).toBe(
      lines([1, '<<<<<<< HEAD\none\n=======\nthree\n>>>>>>> branch/three'], [10, 'two']),
    );
    expect(merged.stages?.map(({ path, stage }) => [path, stage])).toEqual([
      ['f', 1],
      ['f', 2],
      ['f', 3],
      ['g', 1],
      ['g', 3],
    ]);
    const ofOurs = merged.stages?.[1]?.id ?? '';
    expect(`${repository.git('show', ofOurs)}\n`).toBe(lines([1, 'one'], [10, 'two']));
    const { tree, conflicts, stages, gitVersion } = merged;
    expect(await repeatMerge(place, base, treeOf(repository, { h: lines([1, 'ours']) }, base), theirs)).toEqual({
      tree,
      conflicts,
      stages,
      gitVersion,
    });
  });

  test('has no stages where two branches have conflicts in one file, or a later one changes it', async () => {
    const repository = createTemporaryRepository();
    const base = treeOf(repository, { f: lines(), g: 'g\n', binary: '\0' });
    const branch = (key: string, files: Files): { key: string; commit: ObjectId } => ({
      key,
      commit: treeOf(repository, files, base),
    });
    const place = await placeOf(repository);
    const all = (...theirs: { key: string; commit: ObjectId }[]): Promise<MergedTree> =>
      mergeAll(place, base, treeOf(repository, { f: lines([1, 'ours']), binary: '\0ours' }, base), theirs);
    const first = branch('first', { f: lines([1, 'first']) });
    expect((await all(first, branch('second', { f: lines([1, 'second']) }))).stages).toBeUndefined();
    expect((await all(first, branch('second', { f: lines([15, 'second']) }))).stages).toBeUndefined();
    expect((await all(first, branch('second', { g: 'second\n' }))).stages).toHaveLength(3);
    const binaries = ['one', 'two'].map((key) => branch(key, { binary: `\0${key}` }));
    expect((await all(...binaries.slice(0, 1))).stages).toHaveLength(3);
    expect((await all(...binaries)).stages).toBeUndefined();
    expect(await all()).toMatchObject({ conflicts: [], stages: [], objects: [] });
  });

  test('merges again what the repository has already', async () => {
    const repository = createTemporaryRepository();
    const text = noise();
    const base = treeOf(repository, { f: text() });
    const sides = [9, 5000, 20_000].map((at) => treeOf(repository, { f: text([at, 'changed']) }, base));
    const [ours = base, ...others] = sides;
    const place = await placeOf(repository);
    const theirs = others.map((commit, at) => ({ key: `${at}`, commit }));
    const first = await mergeAll(place, base, ours, theirs);
    first.release();
    const again = await mergeAll(place, base, ours, theirs);
    expect(again).toEqual({ ...first, release: again.release });
  });

  test('takes any text for the name of a branch', async () => {
    const repository = createTemporaryRepository();
    const base = treeOf(repository, { f: 'base\n' });
    const keys = ['a', 'a/b', 'HEAD', '--stdin', '..', 'x'.repeat(300), 'a'.repeat(40), 'ü', ' ', 'q@{1}', 'a.lock'];
    const theirs = keys.map((key) => ({ key, commit: treeOf(repository, { f: `${key}\n` }, base) }));
    const merged = await mergeAll(await placeOf(repository), base, treeOf(repository, { f: 'ours\n' }, base), theirs);
    expect(merged.conflicts.map(({ keys: [...all] }) => all.at(-1))).toEqual(keys);
  });
});

test('stages are those of git where names collide', async () => {
  const repository = createTemporaryRepository();
  const merged = await merge(
    repository,
    { a: lines(), b: lines([0, 'other']) },
    { a: null, c: lines(), b: null, 'd/x': 'x\n' },
    { a: null, b: null, c: lines([0, 'other']), d: 'd\n' },
  );
  expect(merged.conflicts.map(({ kind }) => kind)).toContain('file/directory');
  expect(formatStages(merged.stages ?? [])).toContain(' 3\td~branch_theirs\0');
});
