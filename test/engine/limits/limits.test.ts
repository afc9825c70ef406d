import { describe, expect, test } from 'vitest';
import { findBudgetExceeded, findLimitReached, type Allowance } from '../../../src/engine/limits/limits.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import type { Act } from '../../helpers/plot.ts';
import { reply, scenario, type Scenario } from '../../helpers/scenario.ts';

const usage = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 0.1 };

describe('what is counted', () => {
  const times = (count: number): typeof usage => {
    return { inputTokens: 7 * count, outputTokens: 3 * count, turns: count, costUsd: 0.1 * count };
  };
  const allowance = (more: Partial<Allowance>): Allowance => {
    return {
      role: 'a',
      ofThread: {},
      ofRole: {},
      more: {},
      usedByThread: { steps: 2, usage: times(3) },
      usedByRole: { steps: 1, usage: times(more.role === 'b' ? 1 : 2) },
      ...more,
    };
  };

  test.each([
    [{ ofThread: { maxVisits: 1 } }, { name: 'maxVisits', limit: 1, used: 1, missing: 1 }],
    [{ ofThread: { maxSteps: 2 } }, { name: 'maxSteps', limit: 2, used: 2, missing: 2 }],
    [{ ofThread: { maxSteps: 3 } }, undefined],
    [{ ofThread: { maxTokens: 25 } }, { name: 'maxTokens', limit: 25, used: 30, missing: 30 }],
    [{ ofThread: { maxTokens: 25 }, more: { maxTokens: 6 } }, undefined],
    [
      { ofThread: { maxTokens: 25 }, more: { maxTokens: 5 } },
      { name: 'maxTokens', limit: 30, used: 30, missing: 25 },
    ],
    [{ ofThread: { maxTokens: 25 }, more: { maxSteps: 5 } }, { name: 'maxTokens' }],
    [{ ofThread: { maxCostUsd: 0.25 } }, { name: 'maxCostUsd', used: 0.3, missing: 0.3 }],
    [{ ofRole: { maxTurns: 2 } }, { name: 'maxTurns', used: 2, text: 'the limit of 2 turns of a is reached' }],
    [{ ofRole: { maxTurns: 2 }, role: 'b' }, undefined],
  ] satisfies [Partial<Allowance>, unknown][])('%j', (given, reached) => {
    const found = findLimitReached(allowance(given));
    if (reached === undefined) expect(found).toBeUndefined();
    else expect(found).toMatchObject(reached);
  });

  test('a running turn may use up a budget, and not more', () => {
    const given = allowance({ ofThread: { maxTokens: 40 } });
    expect(findBudgetExceeded(given, usage)).toBeUndefined();
    expect(findBudgetExceeded(given, { ...usage, inputTokens: 8 })).toBe('the limit of 40 tokens is exceeded');
  });
});

/** A role that goes on for ever, or asks at its third visit. */
function start(limits: Record<string, number>, asks = false): Promise<Scenario> {
  const visit = { reply: reply('more'), usage };
  const agents = { a: [visit, visit, { ...visit, ...(asks && { suspend: 'Which?' }) }, visit] };
  return scenario({ flow: 'a > a', agents, definition: { limits } });
}

const atLimit = { event: 'thread.suspended', cause: 'limit' };

describe('a limit over the life of a thread', () => {
  test.each([
    [{ maxSteps: 4 }, { maxSteps: 2 }, '--steps 4', 2],
    [{ maxVisits: 4 }, { maxVisits: 3 }, '--visits 4', 3],
    [{ maxTurns: 4 }, { maxTurns: 1 }, '--turns 4', 1],
    [{ maxTokens: 35 }, { maxTokens: 25 }, '--tokens 40', 2],
    [{ maxCostUsd: 0.35 }, { maxCostUsd: 0.25 }, '--cost 0.4', 2],
  ])('of %j holds over five resumptions, and is raised by words alone', async (limits, more, option, stepsMore) => {
    const scene = await start(limits);
    expect(await scene.run()).toMatchObject(atLimit);
    const { head, steps } = await scene.view();
    expect(steps).toBe(4);
    const hint = expect.stringContaining(`uwf thread resume ${scene.thread} ${option}`) as string;
    for (const answer of [undefined, 'Go on.', undefined, 'Please.', undefined]) {
      await expect(scene.resume(answer)).rejects.toMatchObject({ code: 'waits-at-limit', hint });
    }
    expect((await scene.view()).head).toBe(head);
    expect(await scene.resume({ more })).toMatchObject(atLimit);
    expect((await scene.view()).steps).toBe(4 + stepsMore);
    expect(await scene.payload('resume.json', stepsMore + 1)).toMatchObject({ more });
    await expect(scene.resume()).rejects.toMatchObject({ code: 'waits-at-limit' });
  });

  test('that is raised too little, or another one, is not raised at all', async () => {
    const scene = await start({ maxTokens: 35 });
    const { head } = await scene.run();
    for (const more of [{ maxTokens: 5 }, { maxSteps: 100 }]) {
      await expect(scene.resume({ more })).rejects.toMatchObject({ code: 'waits-at-limit' });
    }
    expect((await scene.view()).head).toBe(head);
  });

  test('is not raised by an answer to a question', async () => {
    const scene = await start({ maxSteps: 4 }, true);
    expect(await scene.run()).toMatchObject({ text: 'Which?', cause: 'agent' });
    expect(await scene.resume('This.')).toMatchObject({ cause: 'limit' });
    expect((await scene.view()).steps).toBe(4);
  });

  test('is not bypassed by a role of a person, a second try or another agent', async () => {
    const scene = await start({ maxTokens: 35 });
    const { engine, thread } = scene;
    await scene.step(3);
    // The third is done again: what it had used was used.
    expect(await engine.poke(thread, 'Better.')).toMatchObject({ status: 'idle', role: 'a' });
    const waiting = await engine.poke(thread, 'Better still.');
    expect(waiting).toMatchObject({ status: 'suspended', over: { cause: 'limit' } });
    expect(waiting.thread).not.toBe(thread);
    expect(await engine.step(thread, { role: 'a', agent: 'script' })).toMatchObject({ over: { cause: 'limit' } });
    expect((await scene.view()).steps).toBe(3);
  });

  test('goes with what was added to a fork', async () => {
    const scene = await start({ maxSteps: 2 });
    const { engine, thread, repository } = scene;
    await scene.run();
    await scene.resume({ more: { maxSteps: 1 } });
    const fork = await forkThread(repository, await getThread(repository, thread));
    await expect(engine.resume(fork.thread)).rejects.toMatchObject({ used: 3 });
    await engine.resume(fork.thread, { more: { maxSteps: 1 } });
    expect((await engine.describe(fork.thread)).steps).toBe(4);
    await expect(scene.resume()).rejects.toMatchObject({ used: 3 });
  });

  test('lets a thread go on whose configuration was changed to allow more', async () => {
    const agents = { a: ['more: More.'] };
    const scene = await scenario({ flow: 'a > a', agents, config: { limits: { maxSteps: 2 } } });
    await scene.run();
    scene.plot.config.limits = { maxSteps: 3 };
    expect(await scene.resume()).toMatchObject({ cause: 'limit' });
    expect((await scene.view()).steps).toBe(3);
  });
});

describe('the tries of a turn', () => {
  const flow = 'a > end';

  test('count together: none is begun once a budget is used up', async () => {
    const entry = { reply: 'no front matter', usage };
    const a = [{ ...entry, retries: [entry, { reply: reply('done'), usage }] }];
    const scene = await scenario({ flow, agents: { a }, config: { limits: { maxCostUsd: 0.2 } } });
    expect(await scene.run()).toMatchObject({
      ...atLimit,
      text: expect.stringMatching(/^the limit of 0.2 US dollars is reached, .*missing front matter/u),
    });
    expect(scene.told('reply.refused').map(({ isLast }) => isLast)).toEqual([false, true]);
    await expect(scene.resume()).rejects.toMatchObject({ code: 'waits-at-limit', used: 0.2 });
  });

  test('count together: the one in which a budget is exceeded is stopped', async () => {
    const acts: Act[][] = [
      [{ emit: { kind: 'usage', usage } }, { reply: { kind: 'reply', text: 'no front matter', usage } }],
      [{ emit: { kind: 'usage', usage: { ...usage, turns: 2 } } }, { waitFor: '/never' }],
    ];
    const scene = await scenario({ flow, agents: { a: { acts } }, config: { limits: { maxTurns: 2 } } });
    expect(await scene.run()).toMatchObject({ cause: 'limit', text: 'the limit of 2 turns is exceeded' });
  });
});
