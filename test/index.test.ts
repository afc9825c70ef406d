import { describe, expect, test } from 'vitest';
import * as uwf from '../src/index.ts';
import { builtIn } from '../src/schema/built-in.ts';
import { createLoopRepository } from './helpers/cli.ts';
import { createTemporaryRepository, expectCleanFsck, isolatedGitEnvironment } from './helpers/temporary-repository.ts';

test('hashing needs no waiting', () => {
  const hash = uwf.hashNode(builtIn.content, { text: 'x' });
  expect(uwf.parseNodeHash(hash)).toBe(hash);
});

describe('a program that embeds uwf', () => {
  test('runs a workflow, and finds in its thread all that came of it', async () => {
    const { dir } = createLoopRepository();
    const repository = await uwf.openRepository(dir, { committer: { name: 'A', email: 'a@b' } });
    const { definition } = await uwf.resolveWorkflow(repository, 'loop', { cwd: dir });
    const events: string[] = [];
    const engine = uwf.createEngine({
      repository,
      config: await uwf.loadConfig(repository),
      onEvent: ({ event }) => events.push(event),
    });
    const { thread } = await engine.start({ definition, prompt: 'Write something' });
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(events.filter((event) => event === 'step.finished')).toHaveLength(4);

    const types: (string | undefined)[] = [];
    for await (const { typeName, hash } of uwf.walk(repository, thread)) {
      types.push(typeName);
      expect(await uwf.validate(repository, hash)).toEqual({ valid: true, errors: [] });
    }
    expect(types[0]).toBe('thread-end');
    expect(types.filter((type) => type === 'thread-step')).toHaveLength(4);
    await repository.close();
    expectCleanFsck(dir);
  });

  test('registers a definition and gets the equal one back', async () => {
    const { dir } = createLoopRepository();
    const repository = await uwf.openRepository(dir);
    const { definition } = await uwf.resolveWorkflow(repository, 'loop', { cwd: dir });
    const hash = await uwf.registerWorkflow(repository, definition);
    expect(await uwf.registerWorkflow(repository, definition)).toBe(hash);
    expect(await uwf.loadWorkflow(repository, hash)).toEqual(definition);
    const names: unknown[] = [];
    for await (const { typeName, payload } of uwf.walk(repository, hash)) {
      if (typeName === 'role') names.push((payload as { name: string }).name);
    }
    expect(names.toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(['checker', 'writer']);
    await expect(uwf.walk(repository, 'nothing').next()).rejects.toMatchObject({ code: 'thread-not-found' });
    await repository.close();
  });

  test('shares a thread with another repository, and removes it from there', async () => {
    const { dir } = createLoopRepository();
    const repository = await uwf.openRepository(dir, { committer: { name: 'A', email: 'a@b' } });
    const { definition } = await uwf.resolveWorkflow(repository, 'loop', { cwd: dir });
    const engine = uwf.createEngine({ repository, config: await uwf.loadConfig(repository), env: process.env });
    const { thread, head } = await engine.start({ definition, prompt: 'the task' });
    const server = createTemporaryRepository({ bare: true });
    const remote = await uwf.openRemote(repository, server.dir, { env: isolatedGitEnvironment, direction: 'push' });
    const pushed = await uwf.pushThreads({ repository }, remote);
    expect(pushed.threads).toMatchObject([{ thread, change: 'new', head }]);

    const clone = createTemporaryRepository();
    clone.git('remote', 'add', 'origin', server.dir);
    const other = await clone.open();
    const there = await uwf.openRemote(other, undefined, { env: isolatedGitEnvironment });
    expect(await uwf.listRemoteThreads(other, there, { active: true })).toMatchObject([{ thread, here: 'none' }]);
    expect((await uwf.fetchThreads({ repository: other }, there)).threads).toMatchObject([{ thread, head }]);
    await uwf.removeRemoteThread({ repository }, remote, thread);
    expect((await uwf.syncThreads({ repository: other }, there)).fetched.threads).toMatchObject([
      { thread, change: 'removed' },
    ]);
  });
});
