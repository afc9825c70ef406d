import { resolve } from 'node:path';

// Our tests use the same request as the tests of agents' authors.
export { agentRequest, temporaryFolder, type ObservedRequest } from '../../src/agent/contract-suite/describe-agent.ts';

/** The absolute path of a program in `fixtures/agents/`. */
export function fixtureAgent(name: string): string {
  return resolve(import.meta.dirname, '../../fixtures/agents', name);
}
