import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reachable } from '../../helpers/all-written.ts';
import {
  cloneCliRepository,
  createCliRepository,
  loopWorkflow,
  scriptedConfig,
  type CliRepository,
} from '../../helpers/cli.ts';
import { startGitHttpServer } from '../../helpers/git-http-server.ts';
import {
  createTemporaryFolder,
  createTemporaryRepository,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

const KNOWN = 'correct-horse-battery-staple-7731';
const knowing = { env: { DEPLOY_TOKEN: KNOWN } };

const told = `---\n$status: written\nwords: 3\n---\nThe word is ${KNOWN}.`;

const filesOf = (written: string): Record<string, string> => ({
  '.uwf/workflows/loop.yaml': loopWorkflow,
  '.uwf/config.yaml': scriptedConfig({
    writer: [written],
    checker: ['---\n$status: rejected\n---\nToo short', '---\n$status: accepted\n---\nGood'],
  }),
});

type Scene = { server: TemporaryRepository; ada: CliRepository; ben: CliRepository; thread: string };

/** A thread with a secret that two people and a server have, when one takes it out. */
async function createScene(written: string = told): Promise<Scene> {
  const files = filesOf(written);
  const server = createTemporaryRepository({ bare: true });
  const ada = createCliRepository(files);
  ada.git('remote', 'add', 'origin', server.dir);
  const thread = await ada.start('loop', 'x');
  await ada.uwf(['thread', 'step', thread]);
  await ada.uwf(['thread', 'step', thread]);
  expect((await ada.uwf(['push', '--all'])).code).toBe(0);
  const ben = cloneCliRepository(server.dir, files);
  expect((await ben.uwf(['fetch'])).code).toBe(0);
  return { server, ada, ben, thread };
}

/** Redacts the thread. @returns the id of the thread that took its place */
async function redact(home: CliRepository, thread: string, env: Record<string, string> = knowing.env): Promise<string> {
  const { code, stdout } = await home.uwf(['thread', 'redact', thread], { env });
  expect({ code, stdout }).toMatchObject({ code: 0 });
  return /anew: (\w+)/.exec(stdout)?.[1] ?? '';
}

function threadsOf({ git }: Pick<TemporaryRepository, 'git'>): string[] {
  return git('for-each-ref', '--format=%(refname:lstrip=2)', 'refs/threads').split('\n').filter(Boolean);
}

describe('a thread that was redacted', () => {
  test('is removed at the remote by a push, and at others by a fetch, and another one comes', async () => {
    const { server, ada, ben, thread } = await createScene();
    const { stdout, stderr } = await ada.uwf(['thread', 'redact', thread], knowing);
    expect(stdout).toContain('origin had it when it was last seen');
    expect(stderr).toContain("'uwf push origin'");
    const [now = ''] = threadsOf(ada);
    // What the remote still has does not come back.
    expect(await ada.uwf(['fetch'])).toMatchObject({ code: 0 });
    expect(threadsOf(ada)).toEqual([now]);
    expect(reachable(ada.dir)).not.toContain(KNOWN);
    // The remote had the thread whose place it takes, so that it is no new one.
    const pushed = await ada.uwf(['push', '-n'], knowing);
    expect(pushed).toMatchObject({ code: 0, stdout: expect.stringContaining(now) });
    expect(threadsOf(server)).toEqual([thread]);
    expect(await ada.uwf(['push'], knowing)).toMatchObject({ code: 0, stdout: expect.stringContaining('[removed]') });
    expect(threadsOf(server)).toEqual([now]);
    expect(reachable(server.dir)).not.toContain(KNOWN);
    const fetched = await ben.uwf(['fetch']);
    expect(fetched).toMatchObject({ code: 0, stdout: expect.stringContaining('[removed]') });
    expect(threadsOf(ben)).toEqual([now]);
    expect(reachable(ben.dir)).not.toContain(KNOWN);
    for (const each of [ada, ben]) {
      expect((await each.uwf(['fsck'])).code).toBe(0);
      expect((await each.uwf(['sync'])).code).toBe(0);
    }
    await ben.uwf(['thread', 'step', now, '--role', 'writer']);
    expect((await ben.uwf(['push'])).code).toBe(0);
    expect((await ada.uwf(['sync'])).code).toBe(0);
    expect(ada.git('rev-parse', `refs/threads/${now}`)).toBe(ben.git('rev-parse', `refs/threads/${now}`));
  });

  test('is removed in a bundle, too', async () => {
    const { ada, thread } = await createScene();
    const bundle = join(createTemporaryFolder(), 'all.bundle');
    expect((await ada.uwf(['push', '--all', bundle])).code).toBe(0);
    const now = await redact(ada, thread);
    expect((await ada.uwf(['push', bundle], knowing)).code).toBe(0);
    const reader = createTemporaryRepository();
    reader.git('fetch', '--quiet', bundle, 'refs/*:refs/*');
    expect(threadsOf(reader)).toEqual([now]);
    expect(reachable(reader.dir)).not.toContain(KNOWN);
  });

  test('has no secret in the names of fields', async () => {
    const long = '√another-stapled-horse-of-more-than-a-few-words-0815';
    const fields = JSON.stringify({ $status: 'written', words: 3, [`→${KNOWN}`]: 1, [long]: 'x' });
    const { ada, ben, thread } = await createScene(`---\n${fields}\n---\nDone.`);
    const now = await redact(ada, thread, { DEPLOY_TOKEN: KNOWN, OTHER_TOKEN: long });
    expect((await ada.uwf(['push'])).code).toBe(0);
    expect(await ben.uwf(['fetch'])).toMatchObject({ code: 0 });
    expect(threadsOf(ben)).toEqual([now]);
    for (const secret of [KNOWN, long]) expect(reachable(ben.dir)).not.toContain(secret);
  });

  test('is held by who does not know that the remote had it, and a sync sends nothing of it', async () => {
    const { ada, ben, thread, server } = await createScene();
    ben.git('update-ref', `refs/threads/${thread}`, `refs/threads/${thread}^1`);
    ben
      .git('for-each-ref', '--format=%(refname)', 'refs/uwf/remotes')
      .split('\n')
      .forEach((ref) => ben.git('update-ref', '-d', ref));
    const now = await redact(ada, thread);
    expect((await ada.uwf(['sync'], knowing)).code).toBe(0);
    const { code, stdout } = await ben.uwf(['sync', '--all']);
    expect({ code, stdout }).toMatchObject({ code: 5, stdout: expect.stringContaining(`'uwf thread rm ${thread}'`) });
    expect(threadsOf(server)).toEqual([now]);
    expect((await ben.uwf(['thread', 'rm', thread, '--force'])).code).toBe(0);
    expect((await ben.uwf(['sync', '--all'])).code).toBe(0);
    expect(threadsOf(ben)).toEqual([now]);
    expect(reachable(ben.dir)).not.toContain(KNOWN);
  });

  test('is removed over HTTP, too', async () => {
    const { server, ada, thread } = await createScene();
    server.git('config', 'http.receivepack', 'true');
    const { urlOf } = await startGitHttpServer(dirname(server.dir));
    ada.git('remote', 'set-url', 'origin', urlOf(basename(server.dir)));
    await redact(ada, thread);
    expect(await ada.uwf(['push'], knowing)).toMatchObject({ code: 0 });
    expect(reachable(server.dir)).not.toContain(KNOWN);
    const ben = createCliRepository(filesOf(told));
    ben.git('remote', 'add', 'origin', urlOf(basename(server.dir)));
    expect((await ben.uwf(['fetch'])).code).toBe(0);
    expect((await ben.uwf(['fsck'])).code).toBe(0);
  });

  test('may stay at a remote that refuses it, and does not come back', async () => {
    const { server, ada, thread } = await createScene();
    mkdirSync(join(server.dir, 'hooks'), { recursive: true });
    writeFileSync(join(server.dir, 'hooks', 'update'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const now = await redact(ada, thread);
    const { code, stdout } = await ada.uwf(['push'], knowing);
    expect({ code, stdout }).toMatchObject({ code: 7, stdout: expect.stringContaining('[rejected]') });
    expect(threadsOf(server)).toEqual([thread]);
    for (const words of [['fetch'], ['sync']]) await ada.uwf(words, knowing);
    expect(threadsOf(ada)).toEqual([now]);
    expect(reachable(ada.dir)).not.toContain(KNOWN);
  });

  test('stays at a remote that lets nothing be deleted, and every push says so until it does', async () => {
    const { server, ada, thread } = await createScene();
    const hook = join(server.dir, 'hooks', 'update');
    mkdirSync(dirname(hook), { recursive: true });
    writeFileSync(hook, '#!/bin/sh\ncase "$3" in 0000*) exit 1;; esac\n', { mode: 0o755 });
    const now = await redact(ada, thread);
    for (const words of [['push'], ['fetch'], ['push'], ['sync']]) {
      expect({ words, ...(await ada.uwf(words, knowing)) }).toMatchObject({ code: words[0] === 'fetch' ? 0 : 7 });
      expect(threadsOf(server)).toContain(thread);
    }
    rmSync(hook);
    expect((await ada.uwf(['push'], knowing)).code).toBe(0);
    expect(threadsOf(server)).toEqual([now]);
    expect(reachable(server.dir)).not.toContain(KNOWN);
  });

  test('is told to who has gone on from it, and nothing of that comes back', async () => {
    const { ada, ben, thread, server } = await createScene();
    await ben.uwf(['thread', 'step', thread, '--role', 'writer']);
    const beyond = ben.git('rev-parse', `refs/threads/${thread}`);
    await redact(ada, thread);
    expect((await ada.uwf(['push'], knowing)).code).toBe(0);
    for (const words of [['fetch'], ['push', '--all'], ['push', 'origin', thread], ['sync', '--all']]) {
      const { code, stdout } = await ben.uwf(words);
      expect({ words, code, stdout }).toMatchObject({ code: 5, stdout: expect.stringContaining('[held]') });
      expect(stdout).toContain(`'uwf thread rm ${thread}'`);
    }
    expect(ben.git('rev-parse', `refs/threads/${thread}`)).toBe(beyond);
    expect(reachable(server.dir)).not.toContain(KNOWN);
    // With what this machine knows it is redacted here, too.
    const own = await redact(ben, thread);
    expect((await ben.uwf(['sync', '--all'], knowing)).code).toBe(0);
    expect(threadsOf(server)).toContain(own);
    expect(reachable(ben.dir)).not.toContain(KNOWN);
    expect(reachable(server.dir)).not.toContain(KNOWN);
  });

  test('stays at a remote where others have gone on from it, until that is redacted, too', async () => {
    const { ada, ben, thread, server } = await createScene();
    await ben.uwf(['thread', 'step', thread, '--role', 'writer']);
    expect((await ben.uwf(['push'])).code).toBe(0);
    const beyond = ben.git('rev-parse', `refs/threads/${thread}`);
    const first = await redact(ada, thread);
    const { code, stdout, stderr } = await ada.uwf(['push'], knowing);
    expect({ code, stdout }).toMatchObject({ code: 5, stdout: expect.stringContaining('not redacted here') });
    expect(stderr).toContain(`'uwf fetch origin ${thread}' brings it`);
    expect(server.git('rev-parse', `refs/threads/${thread}`)).toBe(beyond);
    expect((await ada.uwf(['fetch', 'origin', thread])).code).toBe(0);
    // It is here again, and still not sent.
    expect(await ada.uwf(['push', 'origin', thread], knowing)).toMatchObject({
      code: 5,
      stdout: expect.stringContaining('redacted here'),
    });
    const second = await redact(ada, thread);
    expect((await ada.uwf(['push'], knowing)).code).toBe(0);
    expect(threadsOf(server).toSorted()).toEqual([first, second].toSorted());
    expect(reachable(server.dir)).not.toContain(KNOWN);
  });
});
