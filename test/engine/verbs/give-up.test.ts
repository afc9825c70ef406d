import { expect, test } from 'vitest';
import { createEngineContext } from '../../../src/engine/engine-context.ts';
import { giveUpTurn } from '../../../src/engine/verbs/give-up.ts';
import { verifyThread } from '../../../src/verify/verify-threads.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';

const definition = workflow('w', { a: statuses('done') }, [
  { from: '__start__', to: 'a', when: null, prompt: 'Do it.' },
  { from: 'a', to: '__end__', when: null },
]);

test('a turn that left nothing is given up: the thread waits, says what became of it, and can go on', async () => {
  const config = scripted({ a: [reply('done', 'One.')] });
  const { engine, repository, events } = await createFixture(config);
  const { thread } = await engine.start({ definition, prompt: 'x' });
  const context = createEngineContext({ repository, config });
  const reason = 'a failed in 3 tries: w on h fell silent; v on h: the disk is full';
  const losses = ['w on h fell silent', 'v on h: the disk is full', 'w on h fell silent'];
  expect(await giveUpTurn(context, thread, losses)).toBe(reason);
  expect(events.some(({ event }) => event === 'step.started')).toBe(false);
  const view = await engine.describe(thread);
  expect(view).toMatchObject({ status: 'suspended', suspension: { cause: 'agent', role: 'a', reason } });
  // A word is not asked for: what stopped it is to be put right.
  await expect(engine.resume(thread)).resolves.toMatchObject({ event: 'thread.ended', text: 'One.\n' });
  expect(await verifyThread({ repository }, thread)).toMatchObject({ findings: [] });
  // It is over.
  expect(await giveUpTurn(context, thread, losses)).toBeUndefined();
});
