import { mkdirSync, writeFileSync } from 'node:fs';
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
  runGit,
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
  const { thread } = (await ada.json(['thread', 'start', 'loop', '-p', 'x'])) as { thread: string };
  await ada.uwf(['thread', 'step', thread]);
  await ada.uwf(['thread', 'step', thread]);
  expect((await ada.uwf(['push', '--all'])).code).toBe(0);
  const ben = cloneCliRepository(server.dir, files);
  expect((await ben.uwf(['fetch'])).code).toBe(0);
  return { server, ada, ben, thread };
}

describe('what secrets were taken out of', () => {
  test('is replaced at the remote by a push, and at others by a fetch', async () => {
    const { server, ada, ben, thread } = await createScene();
    const { stdout, stderr } = await ada.uwf(['thread', 'redact', thread], knowing);
    expect(stdout).toContain('origin had it when it was last seen');
    expect(stderr).toContain("'uwf push origin'");
    // What the remote still has does not come back.
    expect(await ada.uwf(['fetch'])).toMatchObject({ code: 0 });
    expect(reachable(ada.dir)).not.toContain(KNOWN);
    const pushed = await ada.uwf(['push', '--all'], knowing);
    expect(pushed).toMatchObject({ code: 0, stdout: expect.stringContaining('secrets were taken out') });
    const after = ada.git('rev-parse', `refs/threads/${thread}`);
    expect(server.git('rev-parse', `refs/threads/${thread}`)).toBe(after);
    expect(reachable(server.dir)).not.toContain(KNOWN);
    const fetched = await ben.uwf(['fetch']);
    expect(fetched).toMatchObject({ code: 0, stdout: expect.stringContaining('secrets were taken out') });
    expect(ben.git('rev-parse', `refs/threads/${thread}`)).toBe(after);
    expect(reachable(ben.dir)).not.toContain(KNOWN);
    expect((await ben.uwf(['fsck'])).code).toBe(0);
    for (const each of [ada, ben]) expect((await each.uwf(['sync', '--all'])).code).toBe(0);
    await ben.uwf(['thread', 'step', thread, '--role', 'writer']);
    expect((await ben.uwf(['push', '--all'])).code).toBe(0);
    expect((await ada.uwf(['sync', '--all'])).code).toBe(0);
    expect(ada.git('rev-parse', `refs/threads/${thread}`)).toBe(ben.git('rev-parse', `refs/threads/${thread}`));
  });

  test('is replaced in a bundle, too', async () => {
    const { ada, thread } = await createScene();
    const bundle = join(createTemporaryFolder(), 'all.bundle');
    expect((await ada.uwf(['push', '--all', bundle])).code).toBe(0);
    await ada.uwf(['thread', 'redact', thread], knowing);
    expect((await ada.uwf(['push', bundle], knowing)).code).toBe(0);
    const reader = createTemporaryRepository();
    reader.git('fetch', '--quiet', bundle, 'refs/*:refs/*');
    expect(reader.git('rev-parse', `refs/threads/${thread}`)).toBe(ada.git('rev-parse', `refs/threads/${thread}`));
    expect(reachable(reader.dir)).not.toContain(KNOWN);
  });

  test('is taken by others where names of fields were secrets, whichever mark comes first', async () => {
    const long = '√another-stapled-horse-of-more-than-a-few-words-0815';
    // The marks come the other way round, and what is all mark may have been either name.
    const fields = JSON.stringify({ $status: 'written', words: 3, [`→${KNOWN}`]: 1, [long]: 'x' });
    const { ada, ben, thread } = await createScene(`---\n${fields}\n---\nDone.`);
    await ada.uwf(['thread', 'redact', thread], { env: { DEPLOY_TOKEN: KNOWN, OTHER_TOKEN: long } });
    expect((await ada.uwf(['push', '--all'])).code).toBe(0);
    const fetched = await ben.uwf(['fetch']);
    expect(fetched).toMatchObject({ code: 0, stdout: expect.stringContaining('secrets were taken out') });
    for (const secret of [KNOWN, long]) expect(reachable(ben.dir)).not.toContain(secret);
  });

  test('replaces what somebody has who is behind, and a sync does both', async () => {
    const { ada, ben, thread, server } = await createScene();
    ben.git('update-ref', `refs/threads/${thread}`, `refs/threads/${thread}^1`);
    ben
      .git('for-each-ref', '--format=%(refname)', 'refs/uwf/remotes')
      .split('\n')
      .forEach((ref) => ben.git('update-ref', '-d', ref));
    await ada.uwf(['thread', 'redact', thread], knowing);
    expect((await ada.uwf(['sync', '--all'], knowing)).code).toBe(0);
    expect((await ben.uwf(['sync', '--all'])).code).toBe(0);
    expect(ben.git('rev-parse', `refs/threads/${thread}`)).toBe(server.git('rev-parse', `refs/threads/${thread}`));
    expect(server.git('for-each-ref', '--format=%(refname)', 'refs/threads')).toBe(`refs/threads/${thread}`);
    expect(reachable(ben.dir)).not.toContain(KNOWN);
  });

  test('is replaced over HTTP, too', async () => {
    const { server, ada, thread } = await createScene();
    server.git('config', 'http.receivepack', 'true');
    const { urlOf } = await startGitHttpServer(dirname(server.dir));
    ada.git('remote', 'set-url', 'origin', urlOf(basename(server.dir)));
    await ada.uwf(['thread', 'redact', thread], knowing);
    expect(await ada.uwf(['push', '--all'], knowing)).toMatchObject({ code: 0 });
    expect(reachable(server.dir)).not.toContain(KNOWN);
    const ben = createCliRepository(filesOf(told));
    ben.git('remote', 'add', 'origin', urlOf(basename(server.dir)));
    expect((await ben.uwf(['fetch'])).code).toBe(0);
    expect((await ben.uwf(['fsck'])).code).toBe(0);
  });

  test('may be rejected by a remote, and stays replaced here', async () => {
    const { server, ada, thread } = await createScene();
    mkdirSync(join(server.dir, 'hooks'), { recursive: true });
    writeFileSync(join(server.dir, 'hooks', 'update'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    await ada.uwf(['thread', 'redact', thread], knowing);
    const after = ada.git('rev-parse', `refs/threads/${thread}`);
    const { code, stdout } = await ada.uwf(['push', '--all'], knowing);
    expect({ code, stdout }).toMatchObject({ code: 7, stdout: expect.stringContaining('[rejected]') });
    expect((await ada.uwf(['fetch'])).code).toBe(0);
    expect(ada.git('rev-parse', `refs/threads/${thread}`)).toBe(after);
    expect(reachable(ada.dir)).not.toContain(KNOWN);
  });

  test('is told to who has gone on from it, and nothing of that comes back', async () => {
    const { ada, ben, thread, server } = await createScene();
    await ben.uwf(['thread', 'step', thread, '--role', 'writer']);
    const beyond = ben.git('rev-parse', `refs/threads/${thread}`);
    await ada.uwf(['thread', 'redact', thread], knowing);
    expect((await ada.uwf(['push', '--all'], knowing)).code).toBe(0);
    for (const words of [['fetch'], ['push', '--all'], ['sync', '--all']]) {
      const { code, stdout } = await ben.uwf(words);
      expect({ words, code, stdout }).toMatchObject({ code: expect.toSatisfy((is: number) => is === 1 || is === 5) });
      expect(stdout).toContain('[held]');
      expect(stdout).toContain(words[0] === 'push' ? 'fetch first' : 'secrets were taken out');
    }
    expect(ben.git('rev-parse', `refs/threads/${thread}`)).toBe(beyond);
    expect(reachable(server.dir)).not.toContain(KNOWN);
    // With what this machine knows the rest of it is taken out here, and goes on as a fork.
    expect((await ben.uwf(['thread', 'redact', thread], knowing)).code).toBe(0);
    await ben.uwf(['sync', '--all'], knowing);
    expect(reachable(ben.dir)).not.toContain(KNOWN);
    expect(reachable(server.dir)).not.toContain(KNOWN);
  });

  test('is no way to put another thread in the place of one', async () => {
    const { ada, ben, thread, server } = await createScene();
    const before = ben.git('rev-parse', `refs/threads/${thread}`);
    const { thread: other } = (await ada.json(['thread', 'start', 'loop', '-p', 'other'])) as { thread: string };
    for (let step = 0; step < 2; step += 1) await ada.uwf(['thread', 'step', other]);
    const chain = (id: string): string[] => ada.git('rev-list', '--first-parent', `refs/threads/${id}`).split('\n');
    const pairs = chain(thread)
      .map((id, at) => `${id} ${chain(other)[at]}\n`)
      .toSorted();
    const blob = runGit(ada.dir, ['hash-object', '-w', '--stdin'], `${thread}\n${pairs.join('')}`);
    const tree = runGit(ada.dir, ['mktree'], `100644 blob ${blob}\tredacted\n`);
    const commit = `tree ${tree}\nauthor uwf <uwf@localhost> 0 +0000\ncommitter uwf <uwf@localhost> 0 +0000\n\nredacted\n`;
    const record = runGit(ada.dir, ['hash-object', '-t', 'commit', '-w', '--stdin'], commit);
    const head = ada.git('rev-parse', `refs/threads/${other}`);
    ada.git(
      'push',
      '-q',
      '--force',
      'origin',
      `${record}:refs/uwf/redacted/${thread}`,
      `${head}:refs/threads/${thread}`,
    );
    expect(server.git('rev-parse', `refs/threads/${thread}`)).toBe(head);
    const { code, stdout } = await ben.uwf(['fetch']);
    expect({ code, stdout }).toMatchObject({ code: 1, stdout: expect.stringContaining('another one') });
    // What Ben has is kept as a fork, as of any thread that went another way.
    expect(ben.git('for-each-ref', '--format=%(objectname)', 'refs/threads')).toContain(before);
    expect(ben.git('for-each-ref', 'refs/uwf/redacted')).toBe('');
  });
});
