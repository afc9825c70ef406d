import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../../src/engine/config/config.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { combineLimits, findUnkept, reportedIn } from '../../../src/engine/limits/limits.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';
import { bundledAcpAgent } from '../../helpers/bundled-acp-agent.ts';
import { startModelServer } from '../../helpers/model-server.ts';
import { plotOf, type Player } from '../../helpers/plot.ts';
import { reply, scenario, statuses, type Scenario, type ScenarioOptions } from '../../helpers/scenario.ts';

const flow = ['start > worker', { from: 'worker', to: 'worker', when: "$visits('worker') < 3" }, 'worker > end'];
const price = { inputPerMTok: 2, outputPerMTok: 10, cacheReadPerMTok: 0.2 };

function acp(...words: string[]): Extract<Player, { package: string }> {
  const command = [process.execPath, bundledAcpAgent, ...words];
  return { package: 'builtin:acp', config: { command, mcp: false, graceMs: 300 } };
}

/** A thread in which one role works three times. */
const thrice = (worker: Player, limits: Config['limits'], more: Partial<ScenarioOptions> = {}): Promise<Scenario> =>
  scenario({ flow, agents: { worker }, roles: { worker: statuses('done') }, config: { limits: limits! }, ...more });

/** Goes on with it under another configuration. */
const goOn = (scene: Scenario, worker: Player, limits: Config['limits'] = {}): Promise<EngineEvent> =>
  scene.beside({ config: plotOf({ flow, agents: { worker }, config: { limits } }).config }).resume(scene.thread);

const place = ({ events }: Scenario, name: EngineEvent['event']): number =>
  events.findIndex(({ event }) => event === name);

describe('an agent of which nothing is known', () => {
  test('and that reports nothing is told of once, after its first turn', async () => {
    const scene = await thrice(acp('reply'), { maxCostUsd: 0.000001, maxTokens: 10 });
    expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
    expect(scene.told('limits.unkept')).toMatchObject([
      {
        role: 'worker',
        agent: 'worker-agent',
        limits: ['maxTokens', 'maxCostUsd'],
        text: "agent 'worker-agent' reports neither tokens nor cost, so maxTokens and maxCostUsd do not hold for it",
        hint: 'maxSteps, maxTurns and timeoutMs hold',
      },
    ]);
    expect(place(scene, 'limits.unkept')).toBe(place(scene, 'step.finished') + 1);
  });

  test('is suspended before its second turn, where that is wanted, and its first reply is stored', async () => {
    const scene = await thrice(acp('reply'), { maxCostUsd: 5, unknownUsage: 'refuse' });
    expect(await scene.run()).toMatchObject({
      event: 'thread.suspended',
      cause: 'limit',
      text: expect.stringContaining("maxCostUsd does not hold for it, and unknownUsage is 'refuse'"),
    });
    expect(scene.told('step.started')).toHaveLength(1);
    expect(await scene.view()).toMatchObject({ steps: 1 });
    // To resume it does not change what is known.
    expect(await scene.resume()).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(scene.told('step.started')).toHaveLength(1);
    expect(await goOn(scene, acp('reply'), { maxCostUsd: 5 })).toMatchObject({ event: 'thread.ended' });
  });

  test('goes on as another agent, which reports what is limited', async () => {
    const limits = { maxCostUsd: 5, unknownUsage: 'refuse' } as const;
    const scene = await thrice(acp('reply'), limits);
    await scene.run();
    const counts = { ...acp('count', 'reply'), price };
    expect(await goOn(scene, counts, limits)).toMatchObject({ event: 'thread.ended' });
    // (40,000 of 2, 10,000 of 0.2 and 2,000 of 10 dollars a million) twice
    expect(await scene.view()).toMatchObject({ usage: { costUsd: 0.204 } });
  });

  test.each<[Player, NonNullable<Config['limits']>]>([
    [acp('spend', 'reply'), { maxCostUsd: 5, maxTokens: 100_000 }],
    [
      { ...acp('count', 'reply'), price },
      { maxCostUsd: 5, maxTokens: 1_000_000 },
    ],
    [acp('reply'), { maxSteps: 50, timeoutMs: 60_000 }],
    [['done: Done.'], { maxCostUsd: 5, maxTokens: 5, maxTurns: 5 }],
  ])('or whose limits hold, or that asks no model, is not told of: %j', async (agent, limits) => {
    const scene = await thrice(agent, { ...limits, unknownUsage: 'refuse' });
    expect(await scene.run()).toMatchObject({ event: 'thread.ended' });
    expect(scene.told('limits.unkept')).toEqual([]);
  });
});

describe('an agent that is known to report no cost', () => {
  test('is told of before its first turn', async () => {
    const gemini = acp(`--store=${join(temporaryFolder(), 'gemini')}`, 'count', 'reply');
    const scene = await thrice(gemini, { maxCostUsd: 5 });
    await scene.run();
    expect(scene.told('limits.unkept')).toMatchObject([
      {
        text: "agent 'worker-agent' reports no cost and has no price, so maxCostUsd does not hold for it",
        hint: 'add a price to agents.worker-agent; without one, maxSteps, maxTurns, maxTokens and timeoutMs hold',
      },
    ]);
    expect(place(scene, 'limits.unkept')).toBe(place(scene, 'step.started') + 1);
  });

  test('is not run, where a workflow wants that, until it has a price; then the limit stops it', async () => {
    const usage = { prompt_tokens: 900, completion_tokens: 100 };
    const server = await startModelServer([{ text: reply('done'), usage }]);
    const llm = { package: 'builtin:llm', config: { baseUrl: server.url, model: 'm' } };
    const limits = { maxCostUsd: 0.003, unknownUsage: 'refuse' } as const;
    const scene = await thrice(llm, { unknownUsage: 'warn' }, { definition: { limits } });
    expect(await scene.run()).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(server.requests).toHaveLength(0);
    expect(await goOn(scene, { ...llm, price })).toMatchObject({
      event: 'thread.suspended',
      text: 'the limit of 0.003 US dollars is exceeded',
    });
    expect(server.requests).toHaveLength(2);
  });
});

test('an agent below a caller is held to the limits of the caller', async () => {
  const scene = await scenario({
    flow: 'caller > end',
    agents: { caller: { package: 'builtin:workflow', config: { workflow: 'inner' } }, worker: acp('reply') },
    roles: { caller: statuses('done', 'failed') },
    definition: { limits: { maxTokens: 10, unknownUsage: 'refuse' } },
    others: [plotOf({ flow, definition: { name: 'inner' } }).definition],
  });
  expect(await scene.run()).toMatchObject({
    event: 'thread.suspended',
    cause: 'child',
    text: expect.stringContaining('maxTokens does not hold for it'),
  });
  const [told, ...more] = scene.told('limits.unkept');
  expect([told?.thread === scene.thread, more]).toEqual([false, []]);
});

test('a question to an agent is refused as a turn is', async () => {
  const scene = await thrice(acp('reply'), {});
  await scene.step();
  const worker = { package: 'builtin:llm', config: { baseUrl: 'http://127.0.0.1:1/v1', model: 'm' } };
  const limits = { maxCostUsd: 1, unknownUsage: 'refuse' } as const;
  const { config } = plotOf({ flow, agents: { worker }, config: { limits } });
  const asking = scene.beside({ config }).ask(scene.thread, 'Why?');
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
