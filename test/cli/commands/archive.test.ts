import { execFileSync } from 'node:child_process';
import { relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cloneCliRepository, createLoopRepository, loopReplies, type CliRepository } from '../../helpers/cli.ts';
import {
  createTemporaryRepository,
  expectCleanFsck,
  type TemporaryRepository,
} from '../../helpers/temporary-repository.ts';

const everything = ['--before', '2100-01-01'];

/** A thread that has ended here and at the server. */
async function createEnded(
  replies: typeof loopReplies = loopReplies,
): Promise<{ server: TemporaryRepository; ada: CliRepository; thread: string }> {
  const server = createTemporaryRepository({ bare: true });
  const ada = createLoopRepository(replies);
  ada.git('remote', 'add', 'origin', server.dir);
  expect((await ada.uwf(['run', 'loop', '-p', 'x'])).code).toBe(0);
  const [{ thread } = { thread: '' }] = (await ada.json(['thread', 'list', '--all'])) as { thread: string }[];
  expect((await ada.uwf(['push', '--all'])).code).toBe(0);
  return { server, ada, thread };
}

const namesOf = (repository: TemporaryRepository): string[] =>
  repository.git('for-each-ref', '--format=%(refname)', 'refs/history', 'refs/threads').split('\n').filter(Boolean);

describe('uwf archive', () => {
  test('leaves a thread to be shown, logged, forked and verified by its id, here and in a clone that fetches it', async () => {
    const { server, ada, thread } = await createEnded();
    const log = await ada.json(['log', thread]);
    expect(await ada.json(['archive', ...everything, '-n'])).toMatchObject({ threads: [thread] });
    expect(namesOf(ada)).toHaveLength(1);
    expect(await ada.json(['archive'])).toMatchObject({ threads: [] });
    expect(await ada.json(['archive', ...everything])).toMatchObject({ threads: [thread] });
    expect([namesOf(ada), namesOf(server)]).toMatchObject([[], { length: 1 }]);
    expect((await ada.uwf(['push', '--all'])).stdout).toContain('1 thread archived');
    expect(namesOf(server)).toEqual([]);

    const ben = cloneCliRepository(server.dir);
    expect((await ben.uwf(['fetch'])).code).toBe(0);
    const missing = await ben.uwf(['thread', 'show', thread]);
    expect(missing).toMatchObject({ code: 2 });
    expect(missing.stderr).toContain(`uwf fetch origin ${thread}`);
    expect((await ben.uwf(['fetch', 'origin', thread.slice(0, 20)])).code).toBe(0);
    for (const clone of [ada, ben]) {
      clone.git('gc', '--quiet', '--prune=now');
      expect(await clone.json(['thread', 'show', thread])).toMatchObject({ thread, status: 'ended' });
      expect(await clone.json(['log', thread])).toEqual(log);
      expect((await clone.uwf(['thread', 'verify', thread])).code).toBe(0);
      expect((await clone.uwf(['thread', 'fork', thread])).code).toBe(0);
      expectCleanFsck(clone.dir);
      expect((await clone.uwf(['fsck'])).code).toBe(0);
    }
    expect(await ada.json(['thread', 'list', '--ended'])).toEqual([]);
    expect(await ada.json(['thread', 'list', '--archived'])).toMatchObject([{ thread }]);
    expectCleanFsck(server.dir);
  });

  test('gives a thread its ref back, which a second time is a mistake', async () => {
    const { ada, thread } = await createEnded();
    const before = namesOf(ada);
    await ada.uwf(['archive', ...everything]);
    expect(await ada.json(['archive', '--restore', thread])).toMatchObject({ threads: [thread] });
    expect(namesOf(ada)).toEqual(before);
    expect((await ada.uwf(['archive', '--restore', thread])).code).toBe(2);
  });

  test('says of a restored thread that a remote has archived it, too, and archives it here again', async () => {
    const { ada, thread } = await createEnded();
    await ada.uwf(['archive', ...everything]);
    expect(await ada.uwf(['archive', '--restore', thread])).toMatchObject({ code: 0, stderr: '' });
    await ada.uwf(['archive', ...everything]);
    await ada.uwf(['push', '--all']);
    const { stderr } = await ada.uwf(['archive', '--restore', thread]);
    expect(stderr).toBe('hint: origin has archived it, too: the next fetch from there does so here again\n');
    await ada.uwf(['fetch']);
    expect(namesOf(ada)).toEqual([]);
  });

  test('moves threads to another remote, after which it says where they are', async () => {
    const { server, ada, thread } = await createEnded();
    const cold = createTemporaryRepository({ bare: true });
    ada.git('remote', 'add', 'cold', cold.dir);
    expect(await ada.json(['archive', ...everything, '--to', 'cold'])).toMatchObject({ threads: [thread], held: [] });
    expect([namesOf(ada), namesOf(cold)]).toEqual([[], []]);
    expect((await ada.uwf(['push', '--all'])).code).toBe(0);
    expect(namesOf(server)).toEqual([]);
    for (const { dir } of [ada, server]) expectCleanFsck(dir);
    const missing = await ada.uwf(['thread', 'show', thread]);
    expect(missing.stderr).toContain(`uwf fetch ${cold.dir} ${thread}`);
    expect((await ada.uwf(['fetch', cold.dir, thread])).code).toBe(0);
    expect((await ada.uwf(['thread', 'verify', thread])).code).toBe(0);
  });

  test('names another remote with a relative path so that clones elsewhere find it', async () => {
    const { server, ada, thread } = await createEnded();
    const cold = createTemporaryRepository({ bare: true });
    ada.git('remote', 'add', 'cold', relative(ada.dir, cold.dir));
    await ada.uwf(['archive', ...everything, '--to', 'cold']);
    await ada.uwf(['push', '--all']);
    const ben = cloneCliRepository(server.dir);
    await ben.uwf(['fetch']);
    expect((await ben.uwf(['thread', 'show', thread])).stderr).toContain(`uwf fetch ${cold.dir} ${thread}`);
  });

  test('leaves a scan in a clone that does not have the threads without them, and the scan says so', async () => {
    const { server, ada, thread } = await createEnded();
    await ada.uwf(['archive', ...everything]);
    await ada.uwf(['push', '--all']);
    expect(await ada.json(['scan'])).toMatchObject({ elsewhere: [] });
    const ben = cloneCliRepository(server.dir);
    await ben.uwf(['fetch']);
    expect(await ben.json(['scan'])).toMatchObject({
      commits: 0,
      elsewhere: [{ remote: 'origin', threads: [thread] }],
    });
    expect(await ben.uwf(['scan'])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        `not looked through: 1 thread that only origin has archived; 'uwf fetch origin ${thread}' brings the first`,
      ),
    });
    await ben.uwf(['fetch', 'origin', thread]);
    expect(await ben.json(['scan'])).toMatchObject({ commits: 6, elsewhere: [] });
  });

  test('does not hide that a remote keeps a thread that is removed here', async () => {
    const { ada, thread } = await createEnded();
    await ada.uwf(['archive', ...everything]);
    await ada.uwf(['push', '--all']);
    const { code, stderr } = await ada.uwf(['thread', 'rm', thread]);
    expect(code).toBe(0);
    expect(stderr).toBe(`hint: origin still has it, and no fetch brings it back but 'uwf fetch origin ${thread}'\n`);
  });

  test('is undone by a removal: what only the archive led to is gone, here and there', async () => {
    const { server, ada, thread } = await createEnded();
    const { head } = (await ada.json(['thread', 'show', thread])) as { head: string };
    await ada.uwf(['archive', ...everything]);
    await ada.uwf(['push', '--all']);
    expect((await ada.uwf(['thread', 'rm', thread, '--remote'])).code).toBe(0);
    for (const repository of [ada, server]) {
      repository.git('gc', '--quiet', '--prune=now');
      expect(() => repository.git('cat-file', '-e', head)).toThrow('exited with');
      expectCleanFsck(repository.dir);
    }
    expect((await ada.uwf(['sync', '--all'])).code).toBe(0);
    expect((await ada.uwf(['thread', 'show', thread])).code).toBe(2);
  });

  test('keeps no secret that was taken out of a thread, here, there and in other clones', async () => {
    const secret = 'correct-horse-battery-staple-7731';
    const told = `---\n$status: written\nwords: 3\n---\nThe word is ${secret}.`;
    const { server, ada, thread } = await createEnded({ ...loopReplies, writer: [told, told] });
    const ben = cloneCliRepository(server.dir);
    await ben.uwf(['fetch']);
    await ada.uwf(['archive', ...everything]);
    await ada.uwf(['push', '--all']);
    expect(await ben.json(['sync', '--all'])).toMatchObject({ fetched: { archived: [thread] } });

    const env = { DEPLOY_TOKEN: secret };
    expect((await ada.uwf(['scan'], { env })).code).toBe(1);
    const { code, stdout, stderr } = await ada.uwf(['thread', 'redact', thread], { env });
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining("'uwf push origin'") });
    const now = /anew: (\w+)/.exec(stdout)?.[1] ?? '';
    expect((await ada.uwf(['push', '--all'], { env })).code).toBe(0);
    expect((await ben.uwf(['sync', '--all'], { env })).code).toBe(0);
    expect((await ben.uwf(['archive', ...everything])).code).toBe(0);
    expect((await ben.uwf(['sync', '--all'], { env })).code).toBe(0);
    for (const repository of [ada, ben, server]) {
      repository.git('reflog', 'expire', '--expire=now', '--all');
      repository.git('gc', '--quiet', '--prune=now');
      const all = repository.git('cat-file', '--batch-all-objects', '--batch');
      expect(all).toContain('The word is');
      expect(all).not.toContain(secret);
      expectCleanFsck(repository.dir);
    }
    expect((await ben.uwf(['thread', 'verify', now])).code).toBe(0);
  });

  test('of another clone is changed after the command that a refused removal and a refused redaction name', async () => {
    const secret = 'correct-horse-battery-staple-7731';
    const told = `---\n$status: written\nwords: 3\n---\nThe word is ${secret}.`;
    const { server, ada, thread } = await createEnded({ ...loopReplies, writer: [told, told] });
    expect((await ada.uwf(['run', 'loop', '-p', 'y'])).code).toBe(0);
    expect((await ada.uwf(['push', '--all', '--allow-secrets'])).code).toBe(0);
    const ben = cloneCliRepository(server.dir);
    await ben.uwf(['fetch']);
    const others = (await ben.json(['thread', 'list', '--all'])) as { thread: string }[];
    const other = others.find((each) => each.thread !== thread)?.thread ?? '';
    // A third thread is in the same chain, so that no other clone makes the same commits.
    expect((await ada.uwf(['run', 'loop', '-p', 'z'])).code).toBe(0);
    await ada.uwf(['archive', ...everything]);
    await ada.uwf(['push', '--all', '--allow-secrets']);
    await ben.uwf(['sync', '--all']);

    const env = { DEPLOY_TOKEN: secret };
    const remedyIn = (stderr: string): string => /git fetch origin .*$/m.exec(stderr)?.[0] ?? '';
    const redacted = await ben.uwf(['thread', 'redact', thread], { env });
    expect(redacted.code).toBe(0);
    const push = await ben.uwf(['push', '--all'], { env });
    expect(push).toMatchObject({ code: 5, stdout: expect.stringContaining('the commits that keep it are not here') });
    expect(push.stderr).not.toContain('uwf sync');
    const removal = await ben.uwf(['thread', 'rm', other, '--remote']);
    expect(removal).toMatchObject({ code: 5 });
    expect(remedyIn(removal.stderr)).toBe(remedyIn(push.stderr));

    execFileSync('sh', ['-c', remedyIn(push.stderr)], { cwd: ben.dir, stdio: 'ignore' });
    expect((await ben.uwf(['push', '--all'], { env })).code).toBe(0);
    const head = await headOf(ben, other);
    expect((await ben.uwf(['thread', 'rm', other, '--remote'])).code).toBe(0);
    for (const repository of [ben, server]) {
      repository.git('reflog', 'expire', '--expire=now', '--all');
      repository.git('gc', '--quiet', '--prune=now');
      expect(() => repository.git('cat-file', '-e', head)).toThrow('exited with');
      expectCleanFsck(repository.dir);
    }
    expect((await ben.uwf(['thread', 'show', /anew: (\w+)/.exec(redacted.stdout)?.[1] ?? ''])).code).toBe(0);
  });
});

async function headOf(repository: CliRepository, thread: string): Promise<string> {
  return ((await repository.json(['thread', 'show', thread])) as { head: string }).head;
}
