import { resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import type { JsonObject } from '../../json.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import { findKnown } from '../acp/known-agents.ts';
import { AgentBroken, AgentConfigInvalid } from '../agent-errors.ts';
import type { Agent } from '../contract.ts';
import { checkValue } from '../extract/extract-reply.ts';
import { propertiesOf } from '../extract/schema-variants.ts';
import { withPrice } from '../price.ts';
import { isVersionRange } from '../version-range.ts';
import type { AgentBinding } from './agent-binding.ts';
import { isSurelyConfigOf } from './generated-check.ts';
import { type AgentDescription, describeAgentPackage, loadAgentPackage } from './load-agent-package.ts';

/** A configured agent whose configuration was found good, as far as that was known. */
type CheckedAgent = {
  /** The configuration with its paths made absolute. */
  config: JsonObject;
  /** What is stored of it with a thread. */
  record: AgentRecord;
  /** What is known of the usage that it reports; `undefined` for an agent that asks no model. */
  reports: KnownReports | undefined;
};

/**
 * Finds a configured agent's package and holds the configuration against its `configSchema`. Nothing of an npm package is
 * run: where its `package.json` does not have the schema, the configuration stays as it is, and nothing of it is recorded.
 *
 * Paths in the configuration (texts whose schema says `x-uwf-path: true`) are made absolute, starting at `resolveFrom`.
 */
export async function checkAgent(
  binding: AgentBinding,
  { resolveFrom }: { resolveFrom: string },
): Promise<CheckedAgent> {
  const version = await rangeOf(binding);
  return checkConfig(binding, await describeAgentPackage(binding.package, { resolveFrom, version }), resolveFrom);
}

/**
 * Makes the agent that a binding names, and the record of it. The package is run, and what it says of itself then counts.
 */
export async function createConfiguredAgent(
  binding: AgentBinding,
  { resolveFrom }: { resolveFrom: string },
): Promise<Pick<CheckedAgent, 'record' | 'reports'> & { agent: Agent }> {
  const version = await rangeOf(binding);
  const agentPackage = await loadAgentPackage(binding.package, { resolveFrom, version });
  const { config, ...checked } = await checkConfig(binding, agentPackage.packageDescriptor, resolveFrom);
  const agent = await agentPackage.createAgent(config);
  return { agent: binding.price === undefined ? agent : withPrice(agent, binding.price), ...checked };
}

async function rangeOf({ name, version: range, declaredAt }: AgentBinding): Promise<string | undefined> {
  if (range === undefined || (await isVersionRange(range))) return range;
  const mistake = `agents.${name}.version must be a range of versions such as ^1.2.0, not '${range}'`;
  throw new AgentConfigInvalid(name, [mistake], declaredAt);
}

async function checkConfig(
  binding: AgentBinding,
  { version, configSchema, capabilities }: AgentDescription,
  resolveFrom: string,
): Promise<CheckedAgent> {
  const { name, package: reference, config, declaredAt, price } = binding;
  const reports = knownReports(binding, capabilities);
  const record = { name, package: reference, version, config: price === undefined ? {} : { price } };
  if (configSchema === undefined) return { config, record, reports };
  const mistakes = await configMistakes(binding, configSchema);
  if (mistakes.length > 0) throw new AgentConfigInvalid(name, mistakes, declaredAt);
  return {
    config: resolvePaths(configSchema, config, resolveFrom),
    record: { ...record, config: { ...recordedConfig(configSchema, config), ...record.config } },
    reports,
  };
}

async function configMistakes(
  { name, package: reference, config, price }: AgentBinding,
  schema: JsonObject,
): Promise<string[]> {
  try {
    const isFine = reference.startsWith('builtin:') && isSurelyConfigOf(reference.slice('builtin:'.length), config);
    const mistakes = isFine ? [] : await checkValue(schema, config, `agents.${name}.config`);
    if (price !== undefined) return mistakes;
    const unpriced = propertiesOf(schema).filter(
      ([key, property]) => property['x-uwf-needs-price'] === true && Object.hasOwn(config, key),
    );
    return [...mistakes, ...unpriced.map(([key]) => `agents.${name}.config.${key} needs agents.${name}.price`)];
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

/** Whether an agent reports the tokens that its turns use, and what they cost; absent where that is not known. */
export type KnownReports = { tokens?: boolean; cost?: boolean };

/** Agents that ask no model: programs, persons, and those that give their turn to other agents. */
const withoutModel: ReadonlySet<string> = new Set(
  ['command', 'human', 'scripted', 'workflow'].map((name) => `builtin:${name}`),
);

/**
 * Says what is known, before an agent runs, of the usage that it reports: by its price, by its package, and by the newest
 * version that uwf was tried with. `undefined` for an agent that asks no model.
 */
export function knownReports(
  { package: reference, config, price }: Pick<AgentBinding, 'package' | 'config' | 'price'>,
  capabilities: readonly string[] = [],
): KnownReports | undefined {
  if (withoutModel.has(reference) || capabilities.includes('no-model')) return undefined;
  const { silentOf = [] } = findKnown({ package: reference, config }) ?? {};
  const isCounting = capabilities.includes('usage');
  const isSilent = silentOf.includes('tokens');
  const isUnpriced = silentOf.includes('cost') || (isCounting && !capabilities.includes('cost'));
  return {
    ...((isCounting || isSilent) && { tokens: isCounting }),
    ...(price === undefined ? (isSilent || isUnpriced) && { cost: false } : !isSilent && { cost: true }),
  };
}
