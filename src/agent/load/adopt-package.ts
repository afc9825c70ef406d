import { isJsonObject } from '../../json.ts';
import type { JsonObject } from '../../json.ts';
import { AgentBroken } from '../agent-errors.ts';
import type { Agent, AgentPackage } from '../contract.ts';
import type { InstalledPackage } from './find-package.ts';
import { holdToContract } from './hold-to-contract.ts';

/**
 * Takes a module of an npm package for what makes agents.
 *
 * The descriptor's version is that of the installed package, whatever the package says of itself, and its agents are held
 * to the contract.
 * @param module what importing the package gave
 * @param reference the package's name, for messages
 * @throws {AgentBroken} when the module is not one that makes agents; `createAgent` rejects with it when it made none
 */
export function adoptPackage(
  module: unknown,
  reference: string,
  { folder, version }: Pick<InstalledPackage, 'folder' | 'version'>,
): AgentPackage {
  // CommonJS packages come with all their exports in `default`.
  const candidates = [module, isRecord(module) ? module['default'] : undefined].filter((candidate) =>
    isRecord(candidate),
  );
  const agentPackage = candidates.find(isAgentPackage);
  if (agentPackage === undefined) {
    const best = candidates.find((one) => 'createAgent' in one || 'packageDescriptor' in one) ?? candidates[0] ?? {};
    const faults = packageFaults(best).join('; ');
    throw new AgentBroken(`the package '${reference}' in ${folder} makes no agents: ${faults}`, {
      hint: "an agent package exports 'packageDescriptor' and 'createAgent'",
    });
  }
  return {
    packageDescriptor: { ...agentPackage.packageDescriptor, version },
    createAgent: async (config) => {
      const agent = await makeAgent(agentPackage, config, reference);
      return holdToContract(agent, reference);
    },
  };
}

/** What keeps the exports of a module from being those of an agent package; empty where nothing does. */
export function packageFaults(module: Record<string, unknown>): string[] {
  const { packageDescriptor: descriptor, createAgent } = module;
  const faults: string[] = [];
  if (typeof createAgent !== 'function') faults.push("its 'createAgent' is no function");
  if (!isRecord(descriptor)) return [...faults, "its 'packageDescriptor' is no object"];
  const { name, version, capabilities, configSchema } = descriptor;
  for (const [key, value] of Object.entries({ name, version })) {
    if (typeof value !== 'string' || value === '') faults.push(`its 'packageDescriptor.${key}' is no text`);
  }
  if (!Array.isArray(capabilities) || !capabilities.every((word) => typeof word === 'string')) {
    faults.push("its 'packageDescriptor.capabilities' is no list of words");
  }
  if (!isJsonObject(configSchema)) faults.push("its 'packageDescriptor.configSchema' is no schema");
  return faults;
}

async function makeAgent(agentPackage: AgentPackage, config: JsonObject, reference: string): Promise<Agent> {
  let agent: unknown;
  try {
    agent = await agentPackage.createAgent(config);
  } catch (cause) {
    throw new AgentBroken(`the agent package '${reference}' could not make an agent: ${String(cause)}`, {
      hint: 'look at its configuration, and at what its documentation asks for',
      cause,
    });
  }
  if (isAgent(agent)) return agent;
  throw new AgentBroken(`what 'createAgent' of the agent package '${reference}' makes cannot run`, {
    hint: "an agent is an object with a method 'run'",
  });
}

/** What the types say beyond this cannot be seen from outside; `holdToContract` checks what an agent emits and returns. */
function isAgentPackage(module: Record<string, unknown>): module is Record<string, unknown> & AgentPackage {
  return packageFaults(module).length === 0;
}

function isAgent(value: unknown): value is Agent {
  return isRecord(value) && typeof value['run'] === 'function';
}

/** Tells whether a value is an object of any kind; the namespace of a module is one. */
function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
