import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';

import { builtInAgents } from '../../src/agent/load/agent-binding.ts';
import { describeAgent, finishTurn, readyTurn } from '../../src/agent/contract-suite/describe-agent.ts';
import { builtInContracts } from '../contracts/agent.ts';

const contracts = await builtInContracts();

test('every built-in agent is held to the contract', () => {
  expect(contracts.map(([name]) => name).toSorted()).toEqual(Object.keys(builtInAgents).toSorted());
});

for (const [name, contract] of contracts) describeAgent(`builtin:${name}`, contract);

describe('beyond the contract', () => {
  // Not asked of others: Node's own fetch keeps a listener until it is collected.
  const ours = contracts.filter(([name]) => ['command', 'human', 'scripted', 'workflow'].includes(name));

  test.each(ours)('a turn of %s leaves no listener behind', async (_, contract) => {
    const { signal } = new AbortController();
    await finishTurn(await readyTurn(contract, contract.replies, { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});
