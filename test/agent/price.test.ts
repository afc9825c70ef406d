import { describe, expect, test } from 'vitest';

import type { AgentEvent, Usage } from '../../src/agent/contract.ts';
import { priced, withPrice } from '../../src/agent/price.ts';
import { agentRequest } from '../helpers/agent-request.ts';

const price = { inputPerMTok: 3, outputPerMTok: 15 };
const used = (inputTokens: number, outputTokens: number, more: Partial<Usage> = {}): Usage => {
  return { inputTokens, outputTokens, turns: 1, ...more };
};

describe('the price of tokens', () => {
  test('has those of caches at their own price', () => {
    const usage = used(2000, 30, { cacheReadTokens: 600, cacheWriteTokens: 100 });
    const costUsd = (1300 * 3 + 600 * 0.3 + 100 * 3.75 + 30 * 15) / 1_000_000;
    expect(priced(usage, { ...price, cacheReadPerMTok: 0.3, cacheWritePerMTok: 3.75 })).toEqual({ ...usage, costUsd });
  });

  test('is never less than what was paid, or says so, where caches have no price', () => {
    expect(priced(used(1000, 0, { cacheReadTokens: 600 }), price)).toEqual(
      used(1000, 0, { cacheReadTokens: 600, costUsd: 0.003 }),
    );
    expect(priced(used(1000, 0, { cacheWriteTokens: 10 }), price)).toMatchObject({ costUsd: 0.003, isAtLeast: true });
  });

  test.each([used(10, 1, { costUsd: 0.5 }), used(10, 1, { costUsd: 0 }), used(0, 0, { isAtLeast: true })])(
    'leaves alone what has a cost, or no tokens: %j',
    (usage) => expect(priced(usage, price)).toEqual(usage),
  );

  test('is added to all that an agent reports, and told to the agent', async () => {
    const events: AgentEvent[] = [
      { kind: 'usage', usage: used(1000, 0) },
      { kind: 'turn-end', usage: used(1000, 100) },
      { kind: 'turn-end' },
      { kind: 'text', text: 'Hm.' },
    ];
    let told: unknown;
    const agent = withPrice(
      {
        answers: true,
        run: (request) => {
          told = request.price;
          for (const event of events) request.emit(event);
          return Promise.resolve({ kind: 'failed-attempt', reason: 'x', text: '', usage: used(0, 200) });
        },
      },
      price,
    );
    const request = agentRequest();
    expect(await agent.run(request)).toMatchObject({ kind: 'failed-attempt', usage: { costUsd: 0.003 } });
    expect(request.events).toEqual([
      { kind: 'usage', usage: used(1000, 0, { costUsd: 0.003 }) },
      { kind: 'turn-end', usage: used(1000, 100, { costUsd: 0.0045 }) },
      ...events.slice(2),
    ]);
    expect([told, agent.answers]).toEqual([price, true]);
  });
});
