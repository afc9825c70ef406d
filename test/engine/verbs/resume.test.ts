import { describe, expect, test } from 'vitest';
import { getThread } from '../../../src/thread/find/find-thread.ts';
import { forkThread } from '../../../src/thread/fork/fork-thread.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';

describe('a cancelled thread', () => {
  const definition = workflow('w', { a: statuses('done'), b: statuses('done') }, [
    { from: '__start__', to: 'a', when: null },
    { from: '__resume__', to: 'b', when: null },
    { from: 'a', to: 'b', when: null },
    { from: 'b', to: '__end__', when: null },
  ]);
  const config = scripted({ a: [reply('done', 'One.')], b: [reply('done', 'Two.'), reply('done', 'Three.')] });

  test('is not taken up again, whatever its workflow says, but a fork of it goes on', async () => {
    const { engine, repository, git } = await createFixture(config);
    const { thread } = await engine.start({ definition, prompt: 'x' });
    await engine.step(thread);
    await engine.cancel(thread);
    const refs = git('for-each-ref');
    for (const options of [{}, { answer: 'go on' }]) {
      await expect(engine.resume(thread, options)).rejects.toMatchObject({
        code: 'wrong-thread-state',
        kind: 'usage',
        status: 'cancelled',
        hint: expect.stringContaining(`uwf thread fork ${thread}`),
      });
    }
    expect(git('for-each-ref')).toBe(refs);
    const fork = await forkThread(repository, await getThread(repository, thread));
    expect(await engine.run(fork.thread)).toMatchObject({ event: 'thread.ended', text: 'Two.\n' });
  });

  test('does not hinder one that ended by its rules from being taken up again', async () => {
    const { engine } = await createFixture(config);
    const { thread } = await engine.start({ definition, prompt: 'x' });
    await engine.run(thread);
    await expect(engine.resume(thread)).resolves.toMatchObject({ event: 'thread.ended', text: 'Three.\n' });
  });
});
