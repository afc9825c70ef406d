import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { AgentBinding } from '../../../src/agent/load/agent-binding.ts';
import type { Config } from '../../../src/engine/config/config.ts';
import { createEngine } from '../../../src/engine/engine.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { combineLimits } from '../../../src/engine/limits/limits.ts';
import { findUnkept, reportedIn } from '../../../src/engine/limits/unkept-limits.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';
import { bundledAcpAgent } from '../../helpers/bundled-acp-agent.ts';
import { startModelServer } from '../../helpers/model-server.ts';
import { configOf, createFixture, reply, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

type Agent = Pick<AgentBinding, 'package' | 'config' | 'price'>;

const thrice = workflow('thrice', { worker: statuses('done') }, [
  { from: '__start__', to: 'worker', when: null },
  { from: 'worker', to: 'worker', when: "$visits('worker') < 3" },
  { from: 'worker', to: '__end__', when: null },
]);
const price = { inputPerMTok: 2, outputPerMTok: 10, cacheReadPerMTok: 0.2 };

function acp(...words: string[]): Agent {
  const command = [process.execPath, bundledAcpAgent, ...words];
  return { package: 'builtin:acp', config: { command, mcp: false, graceMs: 300 } };
}

/** Runs a thread in which one role works three times. */
async function run(
  worker: Agent,
  limits: NonNullable<Config['limits']>,
  definition = thrice,
): Promise<
  EngineFixture & { thread: string; over: EngineEvent; told: (event: EngineEvent['event']) => EngineEvent[] }
> {
  const fixture = await createFixture({ ...configOf({ worker }), limits });
  const { thread } = await fixture.engine.start({ definition, prompt: 'Work.' });
  const over = await fixture.engine.run(thread);
  return { ...fixture, thread, over, told: (name) => fixture.events.filter(({ event }) => event === name) };
}

/** Goes on with a thread under another configuration. */
async function goOn({ repository, thread }: EngineFixture & { thread: string }, config: Config): Promise<EngineEvent> {
  return createEngine({ repository, config, env: { PATH: process.env['PATH'] } }).resume(thread);
}

const place = (events: readonly EngineEvent[], name: EngineEvent['event']): number =>
  events.findIndex(({ event }) => event === name);

describe('an agent of which nothing is known', () => {
  test('and that reports nothing is told of once, after its first turn', async () => {
    const { over, told, events } = await run(acp('reply'), { maxCostUsd: 0.000001, maxTokens: 10 });
    expect(over).toMatchObject({ event: 'thread.ended' });
    expect(told('limits.unkept')).toMatchObject([
      {
        role: 'worker',
        agent: 'worker-agent',
        limits: ['maxTokens', 'maxCostUsd'],
        text: "agent 'worker-agent' reports neither tokens nor cost, so maxTokens and maxCostUsd do not hold for it",
        hint: 'maxSteps, maxTurns and timeoutMs hold',
      },
    ]);
    expect(place(events, 'limits.unkept')).toBe(place(events, 'step.finished') + 1);
  });

  test('is suspended before its second turn, where that is wanted, and its first reply is stored', async () => {
    const limited = await run(acp('reply'), { maxCostUsd: 5, unknownUsage: 'refuse' });
    expect(limited.over).toMatchObject({
      event: 'thread.suspended',
      cause: 'limit',
      text: expect.stringContaining("maxCostUsd does not hold for it, and unknownUsage is 'refuse'"),
    });
    expect(limited.told('step.started')).toHaveLength(1);
    expect(await limited.engine.describe(limited.thread)).toMatchObject({ steps: 1 });
    // To resume it does not change what is known.
    expect(await limited.engine.resume(limited.thread)).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(limited.told('step.started')).toHaveLength(1);
    const config = { ...configOf({ worker: acp('reply') }), limits: { maxCostUsd: 5 } };
    expect(await goOn(limited, config)).toMatchObject({ event: 'thread.ended' });
  });

  test('goes on as another agent, which reports what is limited', async () => {
    const limited = await run(acp('reply'), { maxCostUsd: 5, unknownUsage: 'refuse' });
    const config = { ...configOf({ worker: { ...acp('count', 'reply'), price } }), limits: { maxCostUsd: 5 } };
    expect(await goOn(limited, { ...config, limits: { ...config.limits, unknownUsage: 'refuse' } })).toMatchObject({
      event: 'thread.ended',
    });
    // (40,000 of 2, 10,000 of 0.2 and 2,000 of 10 dollars a million) twice
    expect(await limited.engine.describe(limited.thread)).toMatchObject({ usage: { costUsd: 0.204 } });
  });

  test.each([
    [acp('spend', 'reply'), { maxCostUsd: 5, maxTokens: 100_000 }],
    [
      { ...acp('count', 'reply'), price },
      { maxCostUsd: 5, maxTokens: 1_000_000 },
    ],
    [acp('reply'), { maxSteps: 50, timeoutMs: 60_000 }],
    [
      { package: 'builtin:scripted', config: { replies: { worker: [reply('done')] }, repeat: true } },
      { maxCostUsd: 5, maxTokens: 5, maxTurns: 5 },
    ],
  ])('or whose limits hold, or that asks no model, is not told of: %j', async (agent, limits) => {
    const { over, told } = await run(agent, { ...limits, unknownUsage: 'refuse' });
    expect(over).toMatchObject({ event: 'thread.ended' });
    expect(told('limits.unkept')).toEqual([]);
  });
});

describe('an agent that is known to report no cost', () => {
  test('is told of before its first turn', async () => {
    const gemini = acp(`--store=${join(temporaryFolder(), 'gemini')}`, 'count', 'reply');
    const { told, events } = await run(gemini, { maxCostUsd: 5 });
    expect(told('limits.unkept')).toMatchObject([
      {
        text: "agent 'worker-agent' reports no cost and has no price, so maxCostUsd does not hold for it",
        hint: 'add a price to agents.worker-agent; without one, maxSteps, maxTurns, maxTokens and timeoutMs hold',
      },
    ]);
    expect(place(events, 'limits.unkept')).toBe(place(events, 'step.started') + 1);
  });

  test('is not run, where a workflow wants that, until it has a price; then the limit stops it', async () => {
    const server = await startModelServer([
      { text: reply('done'), usage: { prompt_tokens: 900, completion_tokens: 100 } },
    ]);
    const llm: Agent = { package: 'builtin:llm', config: { baseUrl: server.url, model: 'm' } };
    const limits = { maxCostUsd: 0.003, unknownUsage: 'refuse' } as const;
    const limited = await run(llm, { unknownUsage: 'warn' }, { ...thrice, limits });
    expect(limited.over).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(server.requests).toHaveLength(0);
    const over = await goOn(limited, configOf({ worker: { ...llm, price } }));
    expect(over).toMatchObject({ event: 'thread.suspended', text: 'the limit of 0.003 US dollars is exceeded' });
    expect(server.requests).toHaveLength(2);
  });
});

test('an agent below a caller is held to the limits of the caller', async () => {
  const inner = { ...thrice, name: 'inner' };
  const outer = workflow(
    'outer',
    { caller: statuses('done', 'failed') },
    [
      { from: '__start__', to: 'caller', when: null },
      { from: 'caller', to: '__end__', when: null },
    ],
    { limits: { maxTokens: 10, unknownUsage: 'refuse' } },
  );
  const caller = { package: 'builtin:workflow', config: { workflow: 'inner' } };
  const config = configOf({ caller, worker: acp('reply') });
  const fixture = await createFixture(config, { resolveWorkflow: () => Promise.resolve(inner) });
  const { thread } = await fixture.engine.start({ definition: outer, prompt: 'Work.' });
  expect(await fixture.engine.run(thread)).toMatchObject({
    event: 'thread.suspended',
    cause: 'child',
    text: expect.stringContaining('maxTokens does not hold for it'),
  });
  const [told, ...more] = fixture.events.filter(({ event }) => event === 'limits.unkept');
  expect([told?.thread === thread, more]).toEqual([false, []]);
});

test('a question to an agent is refused as a turn is', async () => {
  const fixture = await createFixture(configOf({ worker: acp('reply') }));
  const { thread } = await fixture.engine.start({ definition: thrice, prompt: 'Work.' });
  await fixture.engine.step(thread);
  const llm = { package: 'builtin:llm', config: { baseUrl: 'http://127.0.0.1:1/v1', model: 'm' } };
  const config = { ...configOf({ worker: llm }), limits: { maxCostUsd: 1, unknownUsage: 'refuse' } } as const;
  const { repository } = fixture;
  const asking = createEngine({ repository, config }).ask(thread, 'Why?');
  await expect(asking).rejects.toMatchObject({ code: 'limit-unkept' });
});

test('of all that say what is done about unknown usage, refusing wins', () => {
  const [warn, refuse] = [{ unknownUsage: 'warn' }, { unknownUsage: 'refuse', maxTokens: 3 }] as const;
  expect(combineLimits({ maxTokens: 5 }, refuse, warn)).toEqual({ maxTokens: 3, unknownUsage: 'refuse' });
  expect(combineLimits(undefined, warn)).toEqual({});
});

test.each([
  [null, { maxTurns: 1 }, 'reports neither tokens nor cost, so maxTurns does'],
  [{ inputTokens: 0, outputTokens: 0, turns: 2, costUsd: 1 }, { maxTokens: 1 }, 'reports no tokens, so maxTokens does'],
  [{ inputTokens: 0, outputTokens: 0, turns: 2, costUsd: 0 }, { maxCostUsd: 1, maxTurns: 1 }, undefined],
  [{ inputTokens: 9, outputTokens: 0, turns: 2 }, { maxTokens: 1 }, undefined],
  [{ inputTokens: 9, outputTokens: 0, turns: 0 }, { maxTurns: 1 }, 'reports no turns, so maxTurns does'],
])('of a turn that has used %j, %j holds or does not', (usage, limits, text) => {
  const unkept = findUnkept('a', reportedIn(usage), [undefined, limits]);
  if (text === undefined) expect(unkept).toBeUndefined();
  else expect(unkept?.text).toContain(text);
});
