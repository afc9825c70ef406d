import { describe, expect, test } from 'vitest';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { takeLease } from '../../../src/engine/leases/lease.ts';
import { createBlockFixture, withBlock } from '../blocks/block-fixture.ts';
import { configOf, createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';

describe('a cancelled thread', () => {
  const definition = workflow('w', { a: statuses('done'), b: statuses('done') }, [
    'a',
    '__resume__ > b',
    'a > b > end',
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

test('an answer that was given before a thread asked, or ended, is none to that', async () => {
  const person = { package: 'builtin:human', config: {} };
  const { engine } = await createFixture(configOf({ a: person, b: person }));
  const definition = workflow('w', { a: {}, b: {} }, ['a > b > end', '__resume__ > a']);
  const { thread } = await engine.start({ definition, prompt: 'x' });
  await engine.run(thread);
  const late = { answer: 'To a.', givenAtMs: Date.now() - 1 };
  for (const answer of ['To a.', 'To b.']) {
    await engine.resume(thread, { answer, givenAtMs: Date.now() });
    for (const refuse of [engine.checkResume, engine.answer, engine.resume])
      await expect(refuse(thread, late)).rejects.toMatchObject({ code: 'thread-moved', thread });
  }
  expect(await engine.describe(thread)).toMatchObject({ status: 'ended', steps: 2 });
});

test('of two branches that are answered at once, the one whose block another process has waits for that', async () => {
  const ask = { workflow: 'review', prompt: 'ASK' };
  const { engine, repository } = await createBlockFixture();
  const definition = await withBlock({ branches: { a: ask, b: ask }, join: 'all' });
  const { thread } = await engine.start({ definition, prompt: 'x' });
  await engine.run(thread);
  const [one = '', other = ''] = (await engine.describe(thread)).children;
  await engine.resume(one, { answer: 'the answer' });
  const lease = await takeLease(repository, thread);
  const resumed = engine.resume(other, { answer: 'the answer' });
  await expect.poll(async () => (await engine.describe(other)).status).toBe('ended');
  lease.release();
  expect(await resumed).toMatchObject({ thread: other, status: 'ended' });
  expect((await engine.describe(thread)).status).toBe('ended');
});
