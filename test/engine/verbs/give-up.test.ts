import { expect, test } from 'vitest';
import { createEngineContext } from '../../../src/engine/engine-context.ts';
import { giveUpTurn } from '../../../src/engine/verbs/give-up.ts';
import { verifyThread } from '../../../src/verify/verify-threads.ts';
import { withBlock } from '../blocks/block-fixture.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';
import { rulesOf } from '../../helpers/plot.ts';

const rules = rulesOf(['start > a: Do it.', 'a > end']);
const definition = workflow('w', { a: statuses('done') }, rules);

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

test.each([
  ['a person', definition, 'Do it.'],
  [
    'a person whom no rule asks',
    { ...definition, moderator: [{ from: '__start__', to: 'a', when: null }] },
    'Be the a.',
  ],
  ['a block', await withBlock({ branches: { a: { role: 'checker' } }, join: 'all' }), 'Do all of it.'],
])('the turn of %s is given up with what it was asked', async (_, asking, prompt) => {
  const planned = scripted({ planner: ['---\nphases: []\n---\nA plan.\n'] });
  const me = { name: 'me', package: 'builtin:human', config: {} };
  const config = { ...planned, agents: { ...planned.agents, me }, roles: { a: 'me' } };
  const { engine, repository, git } = await createFixture(config);
  const { thread } = await engine.start({ definition: asking, prompt: 'x' });
  if ('planner' in asking.roles) await engine.step(thread);
  expect(await giveUpTurn(createEngineContext({ repository, config }), thread, ['it fell silent'])).toBeDefined();
  expect(git('show', `refs/threads/${thread}:prompt.md`)).toBe(prompt);
  expect(await verifyThread({ repository }, thread)).toMatchObject({ findings: [] });
});
