import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { isJsonObject } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { nearestName } from '../nearest-name.ts';
import { packageRoot } from '../package-root.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import type { AgentBinding } from './agent-binding.ts';
import { AgentBroken, AgentConfigInvalid, AgentMissing } from './agent-errors.ts';
import { builtInAgents } from './built-in-agents.ts';
import { checkValue } from './check-value.ts';
import type { Agent, AgentPackage } from './contract.ts';
import { findPackage } from './find-package.ts';
import { propertiesOf } from './extract/schema-variants.ts';
import { satisfiesRange } from './version-range.ts';

const BUILT_IN = 'builtin:';

/** Where packages are looked for, and relative paths of configurations start. */
export type LoadOptions = {
  /** The top of the work tree, or the folder of a bare repository; absolute. */
  resolveFrom: string;
  /** The versions of an npm package that will do; absent: any. */
  version?: string | undefined;
};

/** A configured agent whose package is loaded and whose configuration was found good. */
export type CheckedAgent = {
  package: AgentPackage;
  /** The configuration with its paths made absolute. */
  config: JsonObject;
  /** What is stored of it with a thread. */
  record: AgentRecord;
};

/**
 * Loads the package that makes an agent: a built-in one, or an npm package from the repository's `node_modules`, else
 * from where uwf itself is installed.
 * @throws {AgentMissing} when there is none, or none of a version that will do
 * @throws {AgentBroken} when what is there is not an agent package
 */
export async function loadAgentPackage(reference: string, options: LoadOptions): Promise<AgentPackage> {
  if (reference.startsWith(BUILT_IN)) return loadBuiltIn(reference.slice(BUILT_IN.length));
  if (!/^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/iu.test(reference)) {
    throw new AgentMissing(`'${reference}' is not the name of an agent package`, {
      subject: reference,
      hint: `use ${builtInNames().join(', ')} or the name of an npm package`,
    });
  }
  const found = findPackage(reference, options.resolveFrom) ?? findPackage(reference, packageRoot());
  if (found === undefined) {
    throw new AgentMissing(`the agent package '${reference}' is not installed`, {
      subject: reference,
      hint: `run 'npm install ${reference}' in ${options.resolveFrom}`,
    });
  }
  checkVersion(reference, found.version, options.version);
  const module: unknown = await import(pathToFileURL(found.entry).href).catch((cause: unknown) => {
    throw new AgentBroken(`the agent package '${reference}' in ${found.folder} cannot be loaded: ${String(cause)}`, {
      hint: 'install it again, or look for a newer version',
      cause,
    });
  });
  const agentPackage = asAgentPackage(module);
  if (agentPackage !== undefined) return agentPackage;
  throw new AgentBroken(`the package '${reference}' in ${found.folder} makes no agents`, {
    hint: "an agent package exports 'packageDescriptor' and 'createAgent'",
  });
}

/**
 * Loads a configured agent's package and holds the configuration against its `configSchema`; nothing is run.
 *
 * Paths in the configuration (texts whose schema says `x-uwf-path: true`) are made absolute, starting at `resolveFrom`.
 * @throws {AgentConfigInvalid} when the configuration does not satisfy the schema
 * @throws {AgentMissing} as {@link loadAgentPackage} does
 * @throws {AgentBroken} as {@link loadAgentPackage} does
 */
export async function checkAgent(binding: AgentBinding, options: { resolveFrom: string }): Promise<CheckedAgent> {
  const { name, package: reference, config, declaredAt } = binding;
  const { resolveFrom } = options;
  const agentPackage = await loadAgentPackage(reference, { resolveFrom, version: binding.version });
  const { configSchema, version } = agentPackage.packageDescriptor;
  const mistakes = await checkValue(configSchema, config, `agents.${name}.config`);
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

async function loadBuiltIn(name: string): Promise<AgentPackage> {
  const load = Object.hasOwn(builtInAgents, name) ? builtInAgents[name] : undefined;
  if (load !== undefined) return load();
  const near = nearestName(name, Object.keys(builtInAgents));
  throw new AgentMissing(`there is no built-in agent '${BUILT_IN}${name}'`, {
    subject: `${BUILT_IN}${name}`,
    hint: near === undefined ? `there is ${builtInNames().join(', ')}` : `did you mean '${BUILT_IN}${near}'?`,
  });
}

function checkVersion(reference: string, version: string, range: string | undefined): void {
  if (range === undefined) return;
  const isSatisfied = satisfiesRange(version, range);
  if (isSatisfied === true) return;
  throw new AgentMissing(
    isSatisfied === false
      ? `the agent package '${reference}' is installed as ${version}, and ${range} is wanted`
      : `the version '${range}' of the agent package '${reference}' is not understood`,
    {
      subject: reference,
      hint:
        isSatisfied === false ? `run 'npm install ${reference}@${range}'` : 'write 1.2.3, ^1.2.3, ~1.2.3 or >=1.2.3',
    },
  );
}

function asAgentPackage(module: unknown): AgentPackage | undefined {
  // CommonJS packages come with all their exports in `default`.
  for (const candidate of [module, isRecord(module) ? module['default'] : undefined]) {
    if (!isRecord(candidate)) continue;
    const { packageDescriptor, createAgent } = candidate;
    if (typeof createAgent !== 'function' || !isRecord(packageDescriptor)) continue;
    const { name, version, configSchema } = packageDescriptor;
    if (typeof name !== 'string' || typeof version !== 'string' || !isJsonObject(configSchema)) continue;
    // All that the type says and that can be seen from outside was just looked at.
    return candidate as unknown as AgentPackage;
  }
  return undefined;
}

/** A module's namespace is an object as good as any, without being JSON. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function builtInNames(): string[] {
  return Object.keys(builtInAgents).map((name) => BUILT_IN + name);
}
