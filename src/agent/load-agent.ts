import { resolve } from 'node:path';

import { UwfError } from '../errors.ts';
import type { JsonObject } from '../json.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import type { AgentBinding } from './agent-binding.ts';
import { AgentBroken, AgentConfigInvalid } from './agent-errors.ts';
import { checkValue } from './check-value.ts';
import type { Agent, AgentPackage } from './contract.ts';
import { propertiesOf } from './extract/schema-variants.ts';
import { loadAgentPackage } from './load-agent-package.ts';
import { isVersionRange } from './version-range.ts';

/** A configured agent whose package is loaded and whose configuration was found good. */
export type CheckedAgent = {
  package: AgentPackage;
  /** The configuration with its paths made absolute. */
  config: JsonObject;
  /** What is stored of it with a thread. */
  record: AgentRecord;
};

/**
 * Loads a configured agent's package and holds the configuration against its `configSchema`; nothing is run.
 *
 * Paths in the configuration (texts whose schema says `x-uwf-path: true`) are made absolute, starting at `resolveFrom`.
 * @throws {AgentConfigInvalid} when the configuration does not satisfy the schema, or the version is no range
 * @throws {AgentMissing} as {@link loadAgentPackage} does
 * @throws {AgentBroken} as {@link loadAgentPackage} does, and when the package's `configSchema` is no schema
 */
export async function checkAgent(binding: AgentBinding, options: { resolveFrom: string }): Promise<CheckedAgent> {
  const { name, package: reference, version: range, config, declaredAt } = binding;
  const { resolveFrom } = options;
  if (range !== undefined && !(await isVersionRange(range))) {
    const mistake = `agents.${name}.version must be a range of versions such as ^1.2.0, not '${range}'`;
    throw new AgentConfigInvalid(name, [mistake], declaredAt);
  }
  const agentPackage = await loadAgentPackage(reference, { resolveFrom, version: range });
  const { configSchema, version } = agentPackage.packageDescriptor;
  const mistakes = await configMistakes(binding, configSchema);
  if (mistakes.length > 0) throw new AgentConfigInvalid(name, mistakes, declaredAt);
  return {
    package: agentPackage,
    config: resolvePaths(configSchema, config, resolveFrom),
    record: { name, package: reference, version, config: recordedConfig(configSchema, config) },
  };
}

/** Makes the agent that a binding names, and the record of it; throws as {@link checkAgent} does. */
export async function createConfiguredAgent(
  binding: AgentBinding,
  options: { resolveFrom: string },
): Promise<{ agent: Agent; record: AgentRecord }> {
  const { package: agentPackage, config, record } = await checkAgent(binding, options);
  return { agent: await agentPackage.createAgent(config), record };
}

async function configMistakes(
  { name, package: reference, config }: AgentBinding,
  schema: JsonObject,
): Promise<string[]> {
  try {
    return await checkValue(schema, config, `agents.${name}.config`);
  } catch (cause) {
    if (!(cause instanceof UwfError) || cause.code !== 'invalid-schema') throw cause;
    throw new AgentBroken(`the 'configSchema' of the agent package '${reference}' cannot be used: ${cause.message}`, {
      hint: 'look for a newer version of the package',
      cause,
    });
  }
}

/** The part of a configuration that may be stored and shared: properties whose schema says `x-uwf-record: true`. */
export function recordedConfig(configSchema: JsonObject, config: JsonObject): JsonObject {
  const recorded = propertiesOf(configSchema).flatMap(([name, schema]) => {
    const value = Object.hasOwn(config, name) ? config[name] : undefined;
    return schema['x-uwf-record'] === true && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(recorded);
}

function resolvePaths(configSchema: JsonObject, config: JsonObject, resolveFrom: string): JsonObject {
  const resolved = { ...config };
  for (const [name, schema] of propertiesOf(configSchema)) {
    const value = resolved[name];
    if (schema['x-uwf-path'] === true && typeof value === 'string') resolved[name] = resolve(resolveFrom, value);
  }
  return resolved;
}
