import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { openRemote } from '../../../src/git/transport/open-remote.ts';
import type { PushEdit } from '../../../src/git/transport/remote.ts';
import { RemoteUnreachable } from '../../../src/git/transport/git-output.ts';
import { pushAll, threadRef } from '../../contracts/remote-acts.ts';
import { writeChain } from '../../helpers/commit-chain.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  isolatedGitEnvironment as env,
} from '../../helpers/temporary-repository.ts';
import { ref } from '../../contracts/store-fixture.ts';
import { connectTo, type NativeSide } from './remote-scene.ts';

type Scene = { server: ReturnType<typeof createTemporaryRepository>; side: NativeSide };

async function createScene(): Promise<Scene> {
  const server = createTemporaryRepository({ bare: true });
  return { server, side: await connectTo(server.dir) };
}

/** The remote as it is configured now. */
async function reopened({ side }: Scene, name = 'origin'): Promise<NativeSide> {
  return { ...side, remote: await openRemote(side.repository, name, { env, direction: 'push' }) };
}

async function pushOne(side: NativeSide, ...steps: string[]): Promise<ObjectId> {
  const heads = await writeChain(side.repository, undefined, ...(steps.length > 0 ? steps : ['one']));
  const head = heads.at(-1) as ObjectId;
  await pushAll(side, [{ name: threadRef('a'), value: head, expected: null }]);
  return head;
}

describe('a push', () => {
  test('finds the repository in the folder of a work tree, by a relative path', async () => {
    const scene = await createScene();
    const other = createTemporaryRepository();
    scene.side.git('remote', 'set-url', 'origin', join('..', basename(other.dir)));
    const head = await pushOne(await reopened(scene));
    expect(other.git('rev-parse', 'refs/threads/a')).toBe(head);
  });

  test.each([
    ['a name', 'origin'],
    ['a path', undefined],
  ])('goes where git is told to push instead, by %s', async (_, name) => {
    const scene = await createScene();
    const other = createTemporaryRepository({ bare: true });
    scene.side.git('config', `url.${other.dir}.pushInsteadOf`, scene.server.dir);
    const side = await reopened(scene, name ?? scene.server.dir);
    expect(side.remote.url).toBe(other.dir);
    const head = await pushOne(side);
    expect(scene.server.git('for-each-ref')).toBe('');
    expect(other.git('rev-parse', 'refs/threads/a')).toBe(head);
  });

  test('that is stopped before it has begun changes nothing', async () => {
    const { server, side } = await createScene();
    const [head] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
    const edits = [{ name: threadRef('a'), value: head }];
    await expect(side.remote.push({ edits, signal: AbortSignal.abort() })).rejects.toThrow('abort');
    expect(server.git('for-each-ref')).toBe('');
  });

  test('reports the words of a hook that refuses', async () => {
    const { server, side } = await createScene();
    const refusal = '#!/bin/sh\necho "closed today" >&2\necho "see the wiki" >&2\nexit 1\n';
    writeFileSync(join(server.dir, 'hooks/pre-receive'), refusal, { mode: 0o755 });
    const [head] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
    expect(await side.remote.push({ edits: [{ name: threadRef('a'), value: head }] })).toEqual([
      { name: threadRef('a'), outcome: 'refused', reason: 'pre-receive hook declined: closed today; see the wiki' },
    ]);
  });

  test('reports a lock that does not go away', async () => {
    const { server, side } = await createScene();
    const head = await pushOne(side);
    const [next] = (await writeChain(side.repository, head, 'two')) as [ObjectId];
    const edits = [{ name: threadRef('a'), value: next }];
    writeFileSync(join(server.dir, 'refs/threads/a.lock'), '');
    const reason = expect.stringContaining('a.lock') as string;
    expect(await side.remote.push({ edits })).toMatchObject([{ outcome: 'moved', reason }]);
    rmSync(join(server.dir, 'refs/threads/a.lock'));
    expect(await side.remote.push({ edits })).toMatchObject([{ outcome: 'done' }]);
  });

  test('to an empty URL fails', async () => {
    const scene = await createScene();
    scene.side.git('config', 'remote.origin.pushurl', '');
    const side = await reopened(scene);
    const [head] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
    await expect(side.remote.push({ edits: [{ name: threadRef('a'), value: head }] })).rejects.toThrow(
      RemoteUnreachable,
    );
  });

  test('to a folder that is no repository fails', async () => {
    const { server, side } = await createScene();
    rmSync(server.dir, { recursive: true });
    mkdirSync(server.dir);
    const [head] = (await writeChain(side.repository, undefined, 'one')) as [ObjectId];
    const push = side.remote.push({ edits: [{ name: threadRef('a'), value: head }] });
    await expect(push).rejects.toThrow(/does not appear to be a git repository/);
  });

  test.each<[string, (before: ObjectId, after: ObjectId) => PushEdit[]]>([
    ['goes forward from there', (before, after) => [{ name: threadRef('a'), value: after, expected: before }]],
    ['starts from there', (_, after) => [{ name: threadRef('new'), value: after, expected: null }]],
    ['ends there', (before) => [{ name: threadRef('end'), value: before, expected: null }]],
  ])(
    'to a repository that has lost what a ref leads to gives it back, and makes the thread that %s',
    async (_, edits) => {
      const { server, side } = await createScene();
      const before = await pushOne(side);
      const [after] = (await writeChain(side.repository, before, 'two')) as [ObjectId];
      rmSync(join(server.dir, 'objects', before.slice(0, 2)), { recursive: true });
      const results = await side.remote.push({ edits: edits(before, after), isForward: true });
      expect(results).toMatchObject([{ outcome: 'done' }]);
      expectCleanFsck(server.dir);
    },
  );

  test.each<[string, (active: ObjectId, end: ObjectId) => PushEdit[]]>([
    [
      'a thread that ends, and a claim',
      (active, end) => [
        { name: ref('history/2026-11-21/a'), value: end, expected: null },
        { name: threadRef('a'), value: null, expected: active, via: end },
        { name: ref('uwf/claims/a'), value: null, expected: active },
      ],
    ],
    [
      'a claim beside a step',
      (active, next) => [
        { name: threadRef('a'), value: next, expected: active },
        { name: ref('uwf/claims/a'), value: null, expected: active },
      ],
    ],
  ])('to a repository that cannot check what comes deletes nothing: %s', async (_, editsOf) => {
    const { server, side } = await createScene();
    const active = await pushOne(side);
    const [branch, end] = (await writeChain(side.repository, active, 'branch', 'end')) as [ObjectId, ObjectId];
    const names = ['heads/lost', 'uwf/claims/a'];
    const values = [branch, active];
    await pushAll(
      side,
      names.map((name, at) => ({ name: ref(name), value: values[at]!, expected: null })),
    );
    rmSync(join(server.dir, 'objects', branch.slice(0, 2), branch.slice(2)));
    const before = server.git('ls-remote', '.');
    const edits = editsOf(active, end);
    const results = await side.remote.push({ edits, isForward: true });
    expect(results.map(({ outcome }) => outcome)).toContain('refused');
    expect(results.some(({ outcome }) => outcome === 'done')).toBe(false);
    expect(server.git('ls-remote', '.')).toBe(before);
    server.git('update-ref', '-d', 'refs/heads/lost');
    await pushAll(side, edits);
    expect(server.git('ls-remote', '.').split('\n')).toHaveLength(1);
  });

  test('deletes only what the remote still has the successor of', async () => {
    const { server, side } = await createScene();
    const head = await pushOne(side);
    const edits: PushEdit[] = [
      { name: ref('history/2026-11-21/a'), value: head, expected: null },
      { name: threadRef('a'), value: null, expected: head },
    ];
    // The host goes back to what it had before it said that it has made the first.
    const undo = '#!/bin/sh\n[ -e once ] || { touch once; git update-ref -d refs/history/2026-11-21/a; }\n';
    writeFileSync(join(server.dir, 'hooks/post-receive'), undo, { mode: 0o755 });
    expect(await side.remote.push({ edits })).toMatchObject([{ outcome: 'moved' }, { outcome: 'undone' }]);
    expect(server.git('for-each-ref', '--format=%(refname)')).toBe('refs/threads/a');
    expect(await side.remote.push({ edits })).toMatchObject([{ outcome: 'done' }, { outcome: 'done' }]);
    expect(server.git('for-each-ref', '--format=%(refname)')).toBe('refs/history/2026-11-21/a');
  });

  test('that ends a thread makes nothing of it if another client moves the thread while the remote takes the push', async () => {
    const { server, side } = await createScene();
    const active = await pushOne(side);
    const [next] = (await writeChain(side.repository, active, 'next')) as [ObjectId];
    const [end] = (await writeChain(side.repository, active, 'end')) as [ObjectId];
    await pushAll(side, [{ name: ref('heads/other'), value: next, expected: null }]);
    const move = `#!/bin/sh\nenv -u GIT_QUARANTINE_PATH git update-ref refs/threads/a ${next}\n`;
    writeFileSync(join(server.dir, 'hooks/pre-receive'), move, { mode: 0o755 });
    const edits: PushEdit[] = [
      { name: ref('history/2026-11-21/a'), value: end, expected: null },
      { name: threadRef('a'), value: null, expected: active, via: end },
    ];
    expect(await side.remote.push({ edits, isForward: true })).toMatchObject([
      { outcome: 'undone' },
      { outcome: 'moved' },
    ]);
    expect(server.git('for-each-ref', '--format=%(refname) %(objectname)')).toBe(
      `refs/heads/other ${next}\nrefs/threads/a ${next}`,
    );
  });

  test('from a shallow clone, whose commits do not lead to the start, is made', async () => {
    const { server, side } = await createScene();
    const head = await pushOne(side, 'one', 'two', 'three');
    const shallow = createTemporaryRepository();
    shallow.git('fetch', '--quiet', '--depth=1', `file://${server.dir}`, 'refs/threads/a:refs/threads/a');
    const repository = await shallow.open();
    const remote = await openRemote(repository, server.dir, { env });
    const [next] = (await writeChain(repository, head, 'four')) as [ObjectId];
    expect(await remote.push({ edits: [{ name: threadRef('a'), value: next }] })).toMatchObject([{ outcome: 'done' }]);
    expect(server.git('log', '--format=%s', 'refs/threads/a')).toBe('four\nthree\ntwo\none');
  });
});
