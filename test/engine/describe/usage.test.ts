import { describe, expect, test } from 'vitest';
import { addUsage } from '../../../src/schema/built-in/schema-parts.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';

const spender = workflow('spender', { spender: statuses('spent'), saver: statuses('saved') }, [
  'spender',
  { from: 'spender', to: 'saver', when: '$sum($steps.usage.costUsd) > 5', prompt: 'Stop.' },
  'spender > spender',
  'saver > end: After {{ steps.size }} steps.',
]);

const costing = (costUsd: number): { reply: string; usage: Record<string, number> } => ({
  reply: reply('spent'),
  usage: { inputTokens: 10, outputTokens: 1, turns: 1, costUsd },
});

describe('what steps have cost', () => {
  test('can be decided by', async () => {
    const replies = { spender: [costing(2), costing(2.5), costing(0.75)], saver: [reply('saved')] };
    const { engine, events } = await createFixture(scripted(replies));
    const { thread } = await engine.start({ definition: spender, prompt: 'x' });
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.ended', text: 'After 4 steps.' });
    expect(events.flatMap((event) => (event.event === 'step.finished' ? event.role : []))).toEqual([
      'spender',
      'spender',
      'spender',
      'saver',
    ]);
  });

  test('is summed up for the thread and for each role that says what it costs', async () => {
    const replies = { spender: [costing(2), costing(4)], saver: [reply('saved')] };
    const { engine } = await createFixture(scripted(replies));
    const { thread } = await engine.start({ definition: spender, prompt: 'x' });
    await engine.run(thread);
    const usage = { inputTokens: 20, outputTokens: 2, turns: 2, costUsd: 6 };
    expect(await engine.describe(thread)).toMatchObject({ usage, usageByRole: { spender: usage } });
  });

  test('is nothing where nobody says anything', async () => {
    const { engine } = await createFixture(scripted({ spender: [reply('spent')] }));
    const { thread } = await engine.start({ definition: spender, prompt: 'x' });
    await engine.step(thread);
    expect(await engine.describe(thread)).toMatchObject({ usage: null, usageByRole: {} });
  });
});

test('a sum has a cost as soon as one of its parts has, which is not all of it', () => {
  const [tokens, money] = [
    { inputTokens: 1, outputTokens: 2, turns: 1 },
    { inputTokens: 3, outputTokens: 4, turns: 2, costUsd: 0.5 },
  ];
  expect(addUsage(tokens, tokens)).toEqual({ inputTokens: 2, outputTokens: 4, turns: 2 });
  expect(addUsage(tokens, money)).toEqual({
    inputTokens: 4,
    outputTokens: 6,
    turns: 3,
    costUsd: 0.5,
    isAtLeast: true,
  });
  const cached = { ...money, cacheReadTokens: 2, cacheWriteTokens: 1 };
  expect(addUsage(cached, money)).toEqual({ ...cached, inputTokens: 6, outputTokens: 8, turns: 4, costUsd: 1 });
  expect(addUsage(money, { ...money, isAtLeast: true })).toHaveProperty('isAtLeast', true);
  expect(addUsage(null, undefined)).toBeNull();
});
