import { describe, expect, test } from 'vitest';

import { describeTurns } from './turn-tests.ts';
import { packageFaults } from '../load/adopt-package.ts';
import { checkValue } from '../extract/check-value.ts';
import { propertiesOf } from '../extract/schema-variants.ts';
import { TIMEOUT_MS, type AgentContract } from './agent-contract.ts';

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

/** Names of what could be a secret; `maxTokens` is a count. */
const SECRET = /(?:token|(?:key|secret|password|passphrase|credential)s?)$/iu;

/** What uwf sees of a package before an agent takes any turn. */
function describePackage(contract: AgentContract): void {
  const { package: agentPackage, config, refusedConfigs = [] } = contract;
  describe('the package', { timeout: contract.timeoutMs ?? TIMEOUT_MS }, () => {
    const { packageDescriptor } = agentPackage;

    test('exports what makes agents', () => {
      expect(packageFaults({ ...agentPackage })).toEqual([]);
    });

    test('has a version that is one', async () => {
      const { default: valid } = await import('semver/functions/valid.js');
      expect(valid(packageDescriptor.version), `${packageDescriptor.version} as a semantic version`).not.toBeNull();
    });

    test('has a configSchema that is a JSON Schema (2020-12), complete in itself', async () => {
      const { assertSchema } = await import('../../schema/json-schema/validate-against.ts');
      await expect(assertSchema(packageDescriptor.configSchema)).resolves.toBeUndefined();
    });

    test('describes every property of its configuration', () => {
      const silent = propertiesOf(packageDescriptor.configSchema).filter(([, { description }]) => !description);
      expect(silent.map(([name]) => name)).toEqual([]);
    });

    test('accepts its configuration', async () => {
      expect(await checkValue(packageDescriptor.configSchema, config, 'config')).toEqual([]);
    });

    test('refuses a key that it does not know, by its name', async () => {
      const mistakes = await checkValue(packageDescriptor.configSchema, { ...config, mistyped: 1 }, 'config');
      expect(mistakes.join('; ')).toContain('mistyped');
    });

    test.each(refusedConfigs.map((refused) => ({ refused })))(
      'refuses the configuration $refused',
      async ({ refused }) => {
        expect(await checkValue(packageDescriptor.configSchema, refused, 'config')).not.toEqual([]);
      },
    );

    test('has nothing stored with a thread that could be a secret', () => {
      const recorded = propertiesOf(packageDescriptor.configSchema).filter(([, schema]) => schema['x-uwf-record']);
      expect(recorded.map(([name]) => name).filter((name) => SECRET.test(name))).toEqual([]);
    });
  });
}
