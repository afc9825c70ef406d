import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { openRemote, type OpenRemoteOptions } from '../../../src/git/transport/open-remote.ts';
import { GitNotFound } from '../../../src/git/process/run-git.ts';
import { RemotesNeedDisk, RemoteUnreachable } from '../../../src/git/transport/git-output.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import { ref } from '../../contracts/store-fixture.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  isolatedGitEnvironment as env,
} from '../../helpers/temporary-repository.ts';

async function scene() {
  const local = createTemporaryRepository();
  const repository = await local.open();
  const open = (name?: string, options: Partial<OpenRemoteOptions> = {}) =>
    openRemote(repository, name, { env, ...options });
  return { ...local, repository, open };
}

describe('the remote that is taken where none is named', () => {
  test('is the only one there is, else origin', async () => {
    const { git, open } = await scene();
    await expect(open()).rejects.toMatchObject({ code: 'no-such-remote' });
    git('remote', 'add', 'upstream', 'https://example.com/a.git');
    expect((await open()).name).toBe('upstream');
    git('remote', 'add', 'origin', 'https://example.com/b.git');
    expect(await open()).toMatchObject({ name: 'origin', url: 'https://example.com/b.git', isConfigured: true });
  });

  test('is that of the branch, and for a push the one that is configured for pushes', async () => {
    const { git, open } = await scene();
    for (const name of ['origin', 'mine', 'theirs', 'branchs'])
      git('remote', 'add', name, `https://example.com/${name}`);
    git('config', 'branch.main.remote', 'theirs');
    expect((await open()).name).toBe('theirs');
    expect((await open(undefined, { direction: 'push' })).name).toBe('theirs');
    git('config', 'remote.pushDefault', 'mine');
    expect((await open(undefined, { direction: 'push' })).name).toBe('mine');
    git('config', 'branch.main.pushRemote', 'branchs');
    expect((await open(undefined, { direction: 'push' })).name).toBe('branchs');
    expect((await open()).name).toBe('theirs');
  });
});

test.each(['file', 'http', 'bundle'])('a remote of the other object format is named as such: %s', async (kind) => {
  const there = createTemporaryRepository({ objectFormat: 'sha256' });
  there.git('commit', '--quiet', '--allow-empty', '--message', 'one');
  there.git('config', 'http.receivepack', 'true');
  there.git('bundle', 'create', '--quiet', 'all.bundle', 'HEAD', 'main');
  const http =
    kind === 'http' ? (await startGitHttpServer(dirname(there.dir))).urlOf(`${basename(there.dir)}/.git`) : '';
  const { repository, open } = await scene();
  const address = { file: there.dir, http, bundle: join(there.dir, 'all.bundle') }[kind];
  const remote = await open(address, { direction: 'push' });
  const message = `${address} has objects of sha256, and this repository of sha1: git shares nothing between the two`;
  const differs = { code: 'object-formats-differ', message };
  const [value] = await writeChain(repository, undefined, 'one');
  await expect(remote.fetch({ refs: ['refs/heads/*'] })).rejects.toMatchObject(differs);
  await expect(remote.push({ edits: [{ name: ref('threads/a'), value: value ?? null }] })).rejects.toMatchObject(
    differs,
  );
});

describe('a remote that is named', () => {
  test('may be a URL, an address as scp writes it, or a path; nothing else', async () => {
    const { dir, open } = await scene();
    const bare = createTemporaryRepository({ bare: true });
    mkdirSync(join(dir, 'sub'));
    expect((await open('ssh://git@example.com/x.git')).url).toBe('ssh://git@example.com/x.git');
    expect((await open('git@example.com:x.git')).url).toBe('git@example.com:x.git');
    expect(await open(bare.dir)).toMatchObject({ url: bare.dir, isConfigured: false });
    const relative = join('../..', basename(bare.dir));
    expect((await open(relative, { cwd: join(dir, 'sub') })).url).toBe(bare.dir);
    expect((await open(`../${basename(bare.dir)}`)).url).toBe(bare.dir);
    // git adds the ending that bare repositories have.
    const ending = createTemporaryRepository({ bare: true });
    const named = `${createTemporaryFolder()}/named`;
    renameSync(ending.dir, `${named}.git`);
    expect((await open(named)).url).toBe(named);
    expect(await (await open(named)).list(['refs/threads/*'])).toEqual([]);
    for (const name of ['nothing', 'no/such/path', '', '-x', '--upload-pack=false']) {
      await expect(open(name)).rejects.toMatchObject({ code: 'no-such-remote' });
    }
  });

  test('has the URL that git would use, and another one for pushes where there is one', async () => {
    const { git, open } = await scene();
    git('config', 'url.https://example.com/.insteadOf', 'ex:');
    git('remote', 'add', 'origin', 'ex:a.git');
    git('config', 'remote.origin.pushurl', 'ssh://example.com/a.git');
    expect((await open('origin')).url).toBe('https://example.com/a.git');
    expect((await open('origin', { direction: 'push' })).url).toBe('ssh://example.com/a.git');
    expect((await open('ex:b.git')).url).toBe('https://example.com/b.git');
  });

  test('shows no password, neither in its name nor in what it says', async () => {
    const { git, open } = await scene();
    const secret = 'https://user:hunter2@127.0.0.1:1/x.git';
    git('remote', 'add', 'origin', secret);
    for (const remote of [await open('origin'), await open(secret), await open('https://hunter2@127.0.0.1:1/x.git')]) {
      const error: unknown = await remote.list(['refs/*']).catch((failure: unknown) => failure);
      expect(error).toBeInstanceOf(RemoteUnreachable);
      expect(`${remote.name} ${remote.url} ${String(error)} ${(error as RemoteUnreachable).hint}`).not.toContain(
        'hunter2',
      );
    }
  });

  test('gets the password from the URL, or from a credential helper of the repository', async () => {
    const server = createTemporaryRepository({ bare: true });
    server.git('config', 'http.receivepack', 'true');
    const http = await startGitHttpServer(dirname(server.dir));
    http.requireCredentials({ user: 'me', password: 'hunter2' });
    const url = http.urlOf(basename(server.dir));
    const { git, open, repository } = await scene();
    git('remote', 'add', 'origin', url);
    await expect((await open()).list(['refs/*'])).rejects.toThrow(RemoteUnreachable);
    expect(await (await open(url.replace('//', '//me:hunter2@'))).list(['refs/*'])).toEqual([]);
    const helper = join(createTemporaryFolder(), 'helper');
    writeFileSync(helper, '#!/bin/sh\necho username=me\necho password=hunter2\n', { mode: 0o755 });
    git('config', 'credential.helper', helper);
    const [one] = (await writeChain(repository, undefined, 'one')) as [ObjectId];
    git('update-ref', 'refs/threads/a', one);
    const remote = await open();
    // A RefName is made by its parser; this one is fetched as well as pushed.
    const edits = (await repository.refs.list('refs/threads/')).map(({ name, id }) => ({ name, value: id }));
    expect(await remote.push({ edits })).toMatchObject([{ outcome: 'done' }]);
    const incoming = await remote.fetch({ refs: ['refs/threads/*'] });
    expect(incoming.refs).toEqual([{ name: 'refs/threads/a', id: one }]);
    await incoming.discard();
  });

  test('runs no program that its address asks for, unless git is told to allow it', async () => {
    const { dir, open } = await scene();
    const remote = await open(`ext::sh -c touch% ${dir}/ran`);
    await expect(remote.list(['refs/*'])).rejects.toThrow(/transport 'ext' not allowed/);
  });
});

test('without git no remote is opened, whatever kind it is', async () => {
  const { git, open } = await scene();
  git('remote', 'add', 'origin', 'https://example.com/x.git');
  for (const name of [
    undefined,
    'origin',
    'http://example.com/x.git',
    'ssh://example.com/x.git',
    '/x.git',
    'x.bundle',
  ]) {
    await expect(open(name, { env: { ...env, PATH: '/nonexistent' } })).rejects.toThrow(GitNotFound);
  }
});

test('a repository in memory has no remotes', async () => {
  const { repository } = await createMemoryRepository();
  await expect(openRemote(repository, 'https://example.com/x.git', { env })).rejects.toThrow(RemotesNeedDisk);
});

test('why a remote cannot be reached is told without how far git had come', () => {
  const said =
    'Enumerating objects: 5, done.\nremote: Counting objects:  50% (1/2)\rremote: Counting objects: 100% (2/2)\nfatal: gone\n';
  expect(new RemoteUnreachable('origin', said).message).toBe('origin cannot be reached: gone');
});
