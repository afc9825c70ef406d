import { describe, expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { findBudgetExceeded, findLimitReached, type Allowance } from '../../../src/engine/limits/limits.ts';
import { verifyThreads } from '../../../src/verify/verify-threads.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { forkThread } from '../../../src/thread/fork-thread.ts';
import { installReportingAgent, reportingConfig, type ReportedAct } from '../../helpers/reporting-agent.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { createFixture, reply, scripted, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

const usage = { inputTokens: 7, outputTokens: 3, turns: 1, costUsd: 0.1 };

describe('what is counted', () => {
  const times = (count: number): typeof usage => ({
    inputTokens: 7 * count,
    outputTokens: 3 * count,
    turns: count,
    costUsd: 0.1 * count,
  });
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

/** A role that goes on for ever, or asks at a visit. */
async function start(limits: Record<string, number>, ask?: number): Promise<EngineFixture & { thread: string }> {
  const definition = workflow('w', { a: statuses('more') }, [
    { from: '__start__', to: 'a', when: null },
    { from: 'a', to: 'a', when: null },
  ]);
  const replies = Array.from({ length: 40 }, (_, visit) => ({
    reply: reply('more'),
    usage,
    ...(visit === ask && { suspend: 'Which?' }),
  }));
  const fixture = await createFixture(scripted({ a: replies }));
  const { thread } = await fixture.engine.start({ definition: { ...definition, limits }, prompt: 'x' });
  return { ...fixture, thread };
}

const stepsOf = async ({ engine, thread }: { engine: EngineFixture['engine']; thread: string }): Promise<number> =>
  (await engine.describe(thread)).steps;

describe('a limit over the life of a thread', () => {
  test.each([
    [{ maxSteps: 4 }, { maxSteps: 2 }, '--steps 4', 2],
    [{ maxVisits: 4 }, { maxVisits: 3 }, '--visits 4', 3],
    [{ maxTurns: 4 }, { maxTurns: 1 }, '--turns 4', 1],
    [{ maxTokens: 35 }, { maxTokens: 25 }, '--tokens 40', 2],
    [{ maxCostUsd: 0.35 }, { maxCostUsd: 0.25 }, '--cost 0.4', 2],
  ])('of %j holds over five resumptions, and is raised by words alone', async (limits, more, option, stepsMore) => {
    const fixture = await start(limits);
    const { engine, thread, git } = fixture;
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(await stepsOf(fixture)).toBe(4);
    const { head } = await engine.describe(thread);
    for (const options of [{}, { answer: 'Go on.' }, {}, { answer: 'Please.' }, {}]) {
      await expect(engine.resume(thread, options)).rejects.toMatchObject({
        code: 'waits-at-limit',
        hint: expect.stringContaining(`uwf thread resume ${thread} ${option}`),
      });
    }
    expect((await engine.describe(thread)).head).toBe(head);
    expect(await engine.resume(thread, { more })).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(await stepsOf(fixture)).toBe(4 + stepsMore);
    expect(JSON.parse(git('show', `refs/threads/${thread}~${stepsMore + 1}:resume.json`))).toMatchObject({
      payload: { more },
    });
    await expect(engine.resume(thread)).rejects.toMatchObject({ code: 'waits-at-limit' });
    for await (const verdict of verifyThreads(readingContext(fixture.repository)))
      expect(verdict).toMatchObject({ findings: [] });
    expectCleanFsck(fixture.dir);
  });

  test('that is raised too little, or another one, is not raised at all', async () => {
    const { engine, thread } = await start({ maxTokens: 35 });
    const { head } = await engine.run(thread);
    for (const more of [{ maxTokens: 5 }, { maxSteps: 100 }]) {
      await expect(engine.resume(thread, { more })).rejects.toMatchObject({ code: 'waits-at-limit' });
    }
    expect((await engine.describe(thread)).head).toBe(head);
  });

  test('is not raised by an answer to a question', async () => {
    const fixture = await start({ maxSteps: 4 }, 2);
    const { engine, thread } = fixture;
    expect(await engine.run(thread)).toMatchObject({ text: 'Which?', cause: 'agent' });
    expect(await engine.resume(thread, { answer: 'This.' })).toMatchObject({ cause: 'limit' });
    expect(await stepsOf(fixture)).toBe(4);
  });

  test('is not bypassed by a role of a person, a second try or another agent', async () => {
    const fixture = await start({ maxTokens: 35 });
    const { engine, thread } = fixture;
    for (let steps = 0; steps < 3; steps += 1) await engine.step(thread);
    // The third is done again: what it had used was used.
    const poked = await engine.poke(thread, 'Better.');
    expect(poked).toMatchObject({ status: 'idle', role: 'a' });
    const waiting = await engine.poke(thread, 'Better still.');
    expect(waiting).toMatchObject({ status: 'suspended', over: { cause: 'limit' } });
    expect(waiting.thread).not.toBe(thread);
    expect(await engine.step(thread, { role: 'a', agent: 'script' })).toMatchObject({ over: { cause: 'limit' } });
    expect(await stepsOf(fixture)).toBe(3);
  });

  test('goes with what was added to a fork', async () => {
    const fixture = await start({ maxSteps: 2 });
    const { engine, thread, repository } = fixture;
    await engine.run(thread);
    await engine.resume(thread, { more: { maxSteps: 1 } });
    const fork = await forkThread(repository, await getThread(repository, thread));
    await expect(engine.resume(fork.thread)).rejects.toMatchObject({ used: 3 });
    await engine.resume(fork.thread, { more: { maxSteps: 1 } });
    expect(await stepsOf({ engine, thread: fork.thread })).toBe(4);
    await expect(engine.resume(thread)).rejects.toMatchObject({ used: 3 });
  });

  test('lets a thread go on whose configuration was changed to allow more', async () => {
    const config = scripted({ a: Array.from({ length: 9 }, () => reply('more')) }, { limits: { maxSteps: 2 } });
    const fixture = await createFixture(config);
    const definition = workflow('w', { a: statuses('more') }, [
      { from: '__start__', to: 'a', when: null },
      { from: 'a', to: 'a', when: null },
    ]);
    const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
    await fixture.engine.run(thread);
    config.limits = { maxSteps: 3 };
    expect(await fixture.engine.resume(thread)).toMatchObject({ cause: 'limit' });
    expect(await stepsOf({ engine: fixture.engine, thread })).toBe(3);
  });
});

describe('the tries of a turn', () => {
  const definition = workflow('w', { a: statuses('done') }, [
    { from: '__start__', to: 'a', when: null },
    { from: 'a', to: '__end__', when: null },
  ]);

  test('count together: none is begun once a budget is used up', async () => {
    const entry = { reply: 'no front matter', usage };
    const config = scripted(
      { a: [{ ...entry, retries: [entry, { reply: reply('done'), usage }] }] },
      { limits: { maxCostUsd: 0.2 } },
    );
    const { engine, events } = await createFixture(config);
    const { thread } = await engine.start({ definition, prompt: 'x' });
    expect(await engine.run(thread)).toMatchObject({
      event: 'thread.suspended',
      cause: 'limit',
      text: expect.stringMatching(/^the limit of 0.2 US dollars is reached, .*missing front matter/u),
    });
    const refused = events.flatMap((event) => (event.event === 'reply.refused' ? [event.isLast] : []));
    expect(refused).toEqual([false, true]);
    await expect(engine.resume(thread)).rejects.toMatchObject({ code: 'waits-at-limit', used: 0.2 });
  });

  test('count together: the one in which a budget is exceeded is stopped', async () => {
    const told = { kind: 'usage', usage } as const;
    const tries: ReportedAct[][] = [
      [{ emit: told }, { reply: { kind: 'reply', text: 'no front matter', usage } }],
      [{ emit: { kind: 'usage', usage: { ...usage, turns: 2 } } }, { waitFor: '/never' }],
    ];
    const fixture = await createFixture(reportingConfig({ a: tries }, { limits: { maxTurns: 2 } }));
    installReportingAgent(fixture.dir);
    const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
    expect(await fixture.engine.run(thread)).toMatchObject({
      cause: 'limit',
      text: 'the limit of 2 turns is exceeded',
    });
  });
});
