import { chownSync, existsSync, linkSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/object-id.ts';
import { openRemote } from '../../../src/git/open-remote.ts';
import { formatIdentity, ownIdentity } from '../../../src/git/process-identity.ts';
import type { RefName } from '../../../src/git/ref-store.ts';
import type { PushEdit } from '../../../src/git/remote.ts';
import { RemoteUnreachable } from '../../../src/git/remote-errors.ts';
import { describeRemote } from '../../contracts/remote.ts';
import { pushAll, threadRef } from '../../contracts/remote-acts.ts';
import type { RemoteFixture } from '../../contracts/remote-fixture.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import { recordGit, type RecordedGit } from '../../helpers/recorded-git.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../../helpers/temporary-repository.ts';
import { connectTo, counterOf, type NativeSide } from '../native/remote-scene.ts';

async function inFolder(): Promise<RemoteFixture> {
  const server = createTemporaryRepository({ bare: true });
  const git = recordGit();
  const exchanges = /^(?:push|fetch|ls-remote)$/;
  return {
    server,
    connect: () => connectTo(server.dir, git.env),
    countExchanges: counterOf(() => git.commands().filter((command) => exchanges.test(command)).length),
  };
}

// A thousand threads are more than go this way: git pushes those.
describeRemote('a folder', inFolder, { list: 1, fetch: 1, push: 1 });

type Scene = { server: ReturnType<typeof createTemporaryRepository>; side: NativeSide; git: RecordedGit };

async function createScene(environment: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const server = createTemporaryRepository({ bare: true });
  const git = recordGit();
  const side = await connectTo(server.dir, { ...git.env, ...environment });
  return { server, side, git };
}

/** The same remote, found again after something was configured. */
async function reopen(scene: Scene): Promise<Scene> {
  const remote = await openRemote(scene.side.repository, 'origin', { env: scene.git.env });
  return { ...scene, side: { ...scene.side, remote } };
}

async function pushOne({ side }: Scene, ...steps: string[]): Promise<ObjectId> {
  const heads = await writeChain(side.repository, undefined, ...(steps.length > 0 ? steps : ['one']));
  const head = heads.at(-1) as ObjectId;
  await pushAll(side, [{ name: threadRef('a'), value: head, expected: null }]);
  return head;
}

describe('a push into a folder', () => {
  test('starts no git, and leaves what git finds sound and whole', async () => {
    const scene = await createScene();
    const head = await pushOne(scene, 'one', 'two', 'three');
    const [next] = (await writeChain(scene.side.repository, head, 'four')) as [ObjectId];
    await pushAll(scene.side, [{ name: threadRef('a'), value: next, expected: head }]);
    expect(scene.git.commands()).not.toContain('push');
    scene.server.git('fsck', '--strict', '--full');
    expect(scene.server.git('log', '--format=%s', 'refs/threads/a')).toBe('four\nthree\ntwo\none');
    // Three steps in the first pack, one in the second; each of a commit and a tree, with what they hold.
    expect(scene.server.git('count-objects', '-v')).toMatch(/^packs: 2$/m);
  });

  test('finds the repository in the folder of a work tree, and by a relative path', async () => {
    const scene = await createScene();
    const other = createTemporaryRepository();
    scene.side.git('remote', 'set-url', 'origin', join('..', basename(other.dir)));
    const head = await pushOne(await reopen(scene));
    expect(scene.git.commands()).not.toContain('push');
    expect(other.git('rev-parse', 'refs/threads/a')).toBe(head);
  });

  test.each([
    ['a name', 'origin'],
    ['a path that is typed', undefined],
  ])('goes where git is told to push instead, by %s', async (_, name) => {
    const scene = await createScene();
    const other = createTemporaryRepository({ bare: true });
    scene.side.git('config', `url.${other.dir}.pushInsteadOf`, scene.server.dir);
    const { env } = scene.git;
    const remote = await openRemote(scene.side.repository, name ?? scene.server.dir, { env, direction: 'push' });
    expect(remote.url).toBe(other.dir);
    const head = await pushOne({ ...scene, side: { ...scene.side, remote } });
    expect(scene.git.commands()).not.toContain('push');
    expect(scene.server.git('for-each-ref')).toBe('');
    expect(other.git('rev-parse', 'refs/threads/a')).toBe(head);
    // What git does is what is meant.
    other.git('update-ref', '-d', 'refs/threads/a');
    scene.side.git('push', '--quiet', name ?? scene.server.dir, `${head}:refs/threads/a`);
    expect(other.git('rev-parse', 'refs/threads/a')).toBe(head);
  });

  test('tells of a lock that does not go away', async () => {
    const scene = await createScene();
    const head = await pushOne(scene);
    const [next] = (await writeChain(scene.side.repository, head, 'two')) as [ObjectId];
    writeFileSync(join(scene.server.dir, 'refs/threads/a.lock'), '');
    const [result] = await scene.side.remote.push({ edits: [{ name: threadRef('a'), value: next }] });
    expect(result).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('a.lock') as string });
    rmSync(join(scene.server.dir, 'refs/threads/a.lock'));
    expect(await scene.side.remote.push({ edits: [{ name: threadRef('a'), value: next }] })).toMatchObject([
      { outcome: 'done' },
    ]);
    expect(scene.git.commands()).not.toContain('push');
  });

  test('that is stopped before it has begun changes nothing', async () => {
    const scene = await createScene();
    const [head] = (await writeChain(scene.side.repository, undefined, 'one')) as [ObjectId];
    const edits = [{ name: threadRef('a'), value: head }];
    await expect(scene.side.remote.push({ edits, signal: AbortSignal.abort() })).rejects.toThrow('abort');
    expect(scene.server.git('for-each-ref')).toBe('');
  });
});

const hook = '#!/bin/sh\nexit 0\n';

describe('git itself pushes into a folder', () => {
  test.each<[string, (scene: Scene) => void]>([
    ['that has a hook', ({ server }) => writeFileSync(join(server.dir, 'hooks/post-receive'), hook, { mode: 0o755 })],
    ['that looks at what it receives', ({ server }) => server.git('config', 'receive.fsckObjects', 'true')],
    ['that hides refs', ({ server }) => server.git('config', 'transfer.hideRefs', 'refs/private')],
    ['whose hooks lie elsewhere', ({ server }) => server.git('config', 'core.hooksPath', '/nowhere')],
    ['that several users share', ({ server }) => server.git('config', 'core.sharedRepository', 'group')],
    ['that logs every change of a ref', ({ server }) => server.git('config', 'core.logAllRefUpdates', 'always')],
    ['whose configuration goes on elsewhere', ({ server }) => server.git('config', 'include.path', '/nowhere')],
    [
      'that borrows objects',
      ({ server }) => writeFileSync(join(server.dir, 'objects/info/alternates'), `${createTemporaryFolder()}\n`),
    ],
    [
      'of too many packs, so that it cleans up',
      ({ server }) => {
        for (let count = 0; count <= 50; count += 1) writeFileSync(join(server.dir, `objects/pack/x${count}.pack`), '');
      },
    ],
    ['of a user who has what comes checked', ({ side }) => side.git('config', 'transfer.fsckObjects', 'true')],
    ['as it is told which transports may be used', ({ side }) => side.git('config', 'protocol.file.allow', 'always')],
    ['that writes down what git does', ({ side }) => side.git('config', 'trace2.normalTarget', '0')],
    ['from a clone that fetches what it needs later', ({ side }) => side.git('config', 'remote.else.promisor', 'true')],
    [
      'whose HEAD is the thread',
      ({ server }) => {
        server.git('symbolic-ref', 'HEAD', 'refs/threads/a');
      },
    ],
    [
      'that has a log of the thread',
      ({ server }) => {
        mkdirSync(join(server.dir, 'logs/refs/threads'), { recursive: true });
        writeFileSync(join(server.dir, 'logs/refs/threads/a'), '');
      },
    ],
    [
      'where the thread is another name of something',
      ({ server }) => server.git('symbolic-ref', 'refs/threads/a', 'refs/threads/b'),
    ],
    [
      'by a path that goes back from a symbolic link',
      ({ side, server }) => {
        const folder = createTemporaryFolder();
        mkdirSync(join(folder, 'x/y'), { recursive: true });
        symlinkSync(join(folder, 'x/y'), join(folder, 'link'));
        symlinkSync(server.dir, join(folder, 'x/repo'));
        side.git('remote', 'set-url', 'origin', `${folder}/link/../repo`);
      },
    ],
    [
      'by the program that was configured',
      ({ side }) => side.git('config', 'remote.origin.receivepack', 'git-receive-pack'),
    ],
    [
      'and another one',
      ({ side }) => {
        const second = createTemporaryRepository({ bare: true });
        side.git('remote', 'set-url', '--add', 'origin', second.dir);
      },
    ],
  ])('%s', async (_, arrange) => {
    const scene = await createScene();
    arrange(scene);
    const head = await pushOne(await reopen(scene));
    expect(scene.git.commands()).toContain('push');
    expect(scene.server.git('rev-parse', 'refs/threads/a')).toBe(head);
  });

  test('that refuses, and tells in whose words', async () => {
    const scene = await createScene();
    const refusal = '#!/bin/sh\necho "closed today" >&2\necho "see the wiki" >&2\nexit 1\n';
    writeFileSync(join(scene.server.dir, 'hooks/pre-receive'), refusal, { mode: 0o755 });
    const [head] = (await writeChain(scene.side.repository, undefined, 'one')) as [ObjectId];
    const results = await scene.side.remote.push({ edits: [{ name: threadRef('a'), value: head }] });
    expect(results).toEqual([
      { name: threadRef('a'), outcome: 'refused', reason: 'pre-receive hook declined: closed today; see the wiki' },
    ]);
  });

  test('to no place at all, and says so', async () => {
    const scene = await createScene();
    scene.side.git('config', 'remote.origin.pushurl', '');
    const { side } = await reopen(scene);
    const [head] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
    await expect(side.remote.push({ edits: [{ name: threadRef('a'), value: head }] })).rejects.toThrow(
      RemoteUnreachable,
    );
  });

  test.each<[string, (before: ObjectId, after: ObjectId) => PushEdit[]]>([
    ['goes forward from there', (before, after) => [{ name: threadRef('a'), value: after, expected: before }]],
    ['starts from there', (_, after) => [{ name: threadRef('new'), value: after, expected: null }]],
    ['ends there', (before) => [{ name: threadRef('end'), value: before, expected: null }]],
  ])('that has lost what a ref leads to, and lets no thread stand on that which %s', async (_, edits) => {
    const scene = await createScene();
    const before = await pushOne(scene);
    const [after] = (await writeChain(scene.side.repository, before, 'two')) as [ObjectId];
    rmSync(join(scene.server.dir, 'objects/pack'), { recursive: true });
    const push = scene.side.remote.push({ edits: edits(before, after), isForward: true });
    const outcomes = await push.then(
      (results) => results.map(({ outcome }) => outcome),
      () => ['refused'],
    );
    expect(outcomes).not.toContain('done');
    expect(scene.git.commands()).toContain('push');
  });

  test('that cannot take a lock of uwf, and takes what comes', async () => {
    const scene = await createScene();
    writeFileSync(join(scene.server.dir, 'uwf'), '');
    const head = await pushOne(scene);
    expect(scene.git.commands()).toContain('push');
    expect(scene.server.git('rev-parse', 'refs/threads/a')).toBe(head);
  });

  test('after a push that was killed, whose locks go first', async () => {
    const scene = await createScene();
    const before = await pushOne(scene);
    const dead = formatIdentity({ ...ownIdentity(), startTime: '1' });
    const lock = join(scene.server.dir, 'refs/threads/a.lock');
    const record = join(scene.server.dir, `uwf/locks/${dead}@0123456789abcdef@refs%2Fthreads%2Fa.lock`);
    writeFileSync(record, '');
    linkSync(record, lock);
    writeFileSync(join(scene.server.dir, 'hooks/post-receive'), hook, { mode: 0o755 });
    const [after] = (await writeChain(scene.side.repository, before, 'two')) as [ObjectId];
    await pushAll(scene.side, [{ name: threadRef('a'), value: after, expected: before }]);
    expect(scene.git.commands()).toContain('push');
    expect(existsSync(lock) || existsSync(record)).toBe(false);
  });

  test('when it is to trace what it does', async () => {
    const trace = join(createTemporaryFolder(), 'trace');
    const scene = await createScene({ GIT_TRACE_PACKET: trace });
    await pushOne(scene);
    expect(scene.git.commands()).toContain('push');
  });

  test('a branch, of which it keeps a log, and which may be checked out', async () => {
    const scene = await createScene();
    const [head] = (await writeChain(scene.side.repository, undefined, 'one')) as [ObjectId];
    const name = 'refs/heads/topic' as RefName;
    expect(await scene.side.remote.push({ edits: [{ name, value: head }] })).toMatchObject([{ outcome: 'done' }]);
    expect(scene.git.commands()).toContain('push');
  });

  test('a long way', async () => {
    const scene = await createScene();
    await pushOne(scene, ...Array.from({ length: 65 }, (_, at) => `step ${at}`));
    expect(scene.git.commands()).toContain('push');
  });

  test('what is large', async () => {
    const scene = await createScene();
    const { repository } = scene.side;
    const large = Buffer.alloc(17 * 1024 * 1024, 'x').toString('latin1');
    const [head] = (await writeChain(repository, undefined, large)) as [ObjectId];
    await pushAll(scene.side, [{ name: threadRef('a'), value: head }]);
    expect(scene.git.commands()).toContain('push');
  });

  test('what lies in a shallow clone, whose commits do not lead to the start', async () => {
    const scene = await createScene();
    const head = await pushOne(scene, 'one', 'two', 'three');
    const shallow = createTemporaryRepository();
    shallow.git('fetch', '--quiet', '--depth=1', `file://${scene.server.dir}`, 'refs/threads/a:refs/threads/a');
    shallow.git('remote', 'add', 'origin', scene.server.dir);
    const repository = await shallow.open();
    const remote = await openRemote(repository, 'origin', { env: scene.git.env });
    const [next] = (await writeChain(repository, head, 'four')) as [ObjectId];
    expect(await remote.push({ edits: [{ name: threadRef('a'), value: next }] })).toMatchObject([{ outcome: 'done' }]);
    expect(scene.git.commands().filter((command) => command === 'push')).toHaveLength(1);
    expect(scene.server.git('log', '--format=%s', 'refs/threads/a')).toBe('four\nthree\ntwo\none');
  });

  test.skipIf(process.geteuid?.() !== 0)('of somebody else, and refuses', async () => {
    const scene = await createScene();
    for (const path of [scene.server.dir, join(scene.server.dir, 'config')]) chownSync(path, 12_345, 12_345);
    const [head] = (await writeChain(scene.side.repository, undefined, 'one')) as [ObjectId];
    await scene.side.remote.push({ edits: [{ name: threadRef('a'), value: head }] }).catch(() => {});
    expect(scene.git.commands()).toContain('push');
  });

  test('that is none, and says so', async () => {
    const scene = await createScene();
    rmSync(scene.server.dir, { recursive: true });
    mkdirSync(scene.server.dir);
    const [head] = (await writeChain(scene.side.repository, undefined, 'one')) as [ObjectId];
    const push = scene.side.remote.push({ edits: [{ name: threadRef('a'), value: head }] });
    await expect(push).rejects.toThrow(/does not appear to be a git repository/);
  });
});
