import { describe } from 'vitest';

import type { AgentContract } from './agent-contract.ts';
import { describePackage } from './package-tests.ts';
import { describeTurns } from './turn-tests.ts';

/**
 * Registers the tests that every agent has to pass, in a test file of vitest.
 *
 * That the package describes itself and refuses a wrong configuration; that a turn replies with what its role asks for,
 * tells what the contract knows, ends when it is told to, and leaves nothing behind. What the agent is good for, its
 * author tests beside it, with `agentRequest`.
 * @param name the agent, for the report: `uwf-agent-mine`
 */
export function describeAgent(name: string, contract: AgentContract): void {
  describe(`${name} keeps the contract of agents`, () => {
    describePackage(contract);
    describeTurns(contract);
  });
}
