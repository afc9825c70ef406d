import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseObjectId, type ObjectId } from '../../../src/git/format/object-id.ts';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import type { IncomingObjects } from '../../../src/git/transport/remote.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

type Options = Parameters<typeof createTemporaryRepository>[0];

/** Writes an object without asking git what it thinks of it. */
function writeObject({ dir, git }: TemporaryRepository, type: string, data: string | Uint8Array): ObjectId {
  writeFileSync(join(dir, 'object'), data);
  return parseObjectId(git('hash-object', '--literally', '-w', '-t', type, 'object'));
}

function writeTree(repository: TemporaryRepository, head: string, id: string): ObjectId {
  return writeObject(repository, 'tree', Buffer.concat([Buffer.from(`${head}\0`), Buffer.from(id, 'hex')]));
}

/** A remote with a sound ref, and others that git would not take. */
function createRemote(options: Options = {}) {
  const remote = createTemporaryRepository(options);
  const { git } = remote;
  const file = writeObject(remote, 'blob', 'a file\n');
  const trees = ['100644 .git', '100600 file', '100644 a/b', '120000 .gitmodules'].map((head) =>
    writeTree(remote, head, file),
  );
  const modules = writeObject(remote, 'blob', `[submodule "a"]\n\turl = -u./${'e'.repeat(200_000)}\n`);
  const withModules = writeTree(remote, '100644 .gitmodules', modules);
  const sound = parseObjectId(git('commit-tree', '-m', 'sound', writeTree(remote, '100644 file', file)));
  const commit = git('cat-file', 'commit', sound);
  const nul = writeObject(remote, 'commit', `${commit}\0`);
  const cut = writeObject(remote, 'commit', commit.split('\n\n')[0] ?? '');
  git('update-ref', 'refs/threads/sound', sound);
  for (const [at, tree] of [...trees, withModules].entries())
    git('update-ref', `refs/threads/${at}`, git('commit-tree', '-m', 'x', tree));
  for (const id of [nul, cut]) git('update-ref', `refs/threads/${id}`, id);
  return { ...remote, sound, unsound: [...trees, modules, nul, cut], trees };
}

async function fetchInto(local: TemporaryRepository, url: string): Promise<IncomingObjects> {
  const remote = await openRemote(await local.open(), url, { env });
  return remote.fetch({ refs: ['refs/threads/*'] });
}

test.each([
  ['a folder', 'sha1', false],
  ['a folder', 'sha256', false],
  ['a bundle', 'sha1', true],
] as const)(
  'of what comes from %s of %s, what git would not take cannot be read',
  async (_, objectFormat, isBundle) => {
    const remote = createRemote({ objectFormat });
    const bundle = join(remote.dir, 'all.bundle');
    if (isBundle) remote.git('bundle', 'create', '-q', bundle, '--all');
    const local = createTemporaryRepository({ objectFormat });
    const incoming = await fetchInto(local, isBundle ? bundle : remote.dir);
    const said = await Promise.all(
      remote.unsound.map((id) =>
        incoming.objects.read(id).then(
          () => '',
          (error: Error) => error.message,
        ),
      ),
    );
    expect(said.map((words) => /^git would not take it: (\w+): /.exec(words)?.[1])).toEqual([
      'hasDotgit',
      'badFilemode',
      'fullPathname',
      'gitmodulesSymlink',
      'gitmodulesUrl',
      'nulInCommit',
      'unterminatedHeader',
    ]);
    expect(said[4]?.length).toBeLessThan(400);
    expect(await incoming.objects.read(remote.sound)).toMatchObject({ type: 'commit' });
    await (await incoming.accept([remote.sound])).release();
    await incoming.discard();
    expect(local.git('cat-file', '-t', remote.sound)).toBe('commit');
    expectCleanFsck(local.dir);
  },
);

test('what the repository has already is read as it is', async () => {
  const remote = createRemote();
  const local = createTemporaryRepository();
  const file = writeObject(local, 'blob', 'a file\n');
  const [tree = file] = remote.trees;
  expect(writeTree(local, '100644 .git', file)).toBe(tree);
  const incoming = await fetchInto(local, remote.dir);
  expect(await incoming.objects.read(tree)).toMatchObject({ type: 'tree' });
  await incoming.discard();
});

test("git's own exceptions of a user hold", async () => {
  const remote = createRemote();
  const local = createTemporaryRepository();
  const settings = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'fsck.hasDotgit', GIT_CONFIG_VALUE_0: 'ignore' };
  const opened = await openRemote(await local.open(), remote.dir, { env: { ...env, ...settings } });
  const incoming = await opened.fetch({ refs: ['refs/threads/*'] });
  const [tree] = remote.trees;
  expect(tree && (await incoming.objects.read(tree))).toMatchObject({ type: 'tree' });
  await incoming.discard();
});
