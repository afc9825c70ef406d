import { isJsonObject, type JsonObject } from '../../json.ts';
import { nearestName } from '../../text/nearest-name.ts';
import { packageRoot } from '../../git/system/process-identity.ts';
import { AgentBroken, AgentMissing } from '../agent-errors.ts';
import type { Agent, AgentPackage, PackageDescriptor } from '../contract.ts';
import { builtInAgents } from './agent-binding.ts';
import { findPackage, type InstalledPackage } from './find-package.ts';
import { holdToContract } from './hold-to-contract.ts';
import { satisfiesRange } from '../version-range.ts';

const BUILT_IN = 'builtin:';
const PACKAGE_NAME = /^(?:@[a-z0-9~-][\w.~-]*\/)?[a-z0-9~-][\w.~-]*$/iu;

type LoadOptions = {
  /** The top of the work tree, or the folder of a bare repository; absolute. */
  resolveFrom: string;
  /** The versions that will do, a range as npm reads it; absent: any. */
  version?: string | undefined;
};

type ImportablePackage = InstalledPackage & { entry: string };

/** What is known of an agent package before it runs. What it does not say is absent. */
export type AgentDescription = Pick<PackageDescriptor, 'version'> &
  Partial<Pick<PackageDescriptor, 'capabilities' | 'configSchema'>>;

/**
 * Loads the package that makes an agent: a built-in one, or an npm package from the repository's `node_modules` or one
 * above it, else from where uwf itself is installed. The first that is found counts, whatever its version.
 *
 * The descriptor's version is that of the installed package, whatever the package says of itself. Agents of npm packages
 * are held to the contract (`holdToContract`).
 * @throws {AgentMissing} when there is none, or none of a version that will do
 * @throws {AgentBroken} when what is there is not an agent package
 */
export async function loadAgentPackage(reference: string, options: LoadOptions): Promise<AgentPackage> {
  const found = await findAgentPackage(reference, options);
  if ('packageDescriptor' in found) return found;
  return adoptPackage(await importPackage(reference, found), reference, found);
}

/**
 * Says what can be known of an agent package while nothing of it runs: an npm package says it in its `package.json`, under
 * `uwf`.
 */
export async function describeAgentPackage(reference: string, options: LoadOptions): Promise<AgentDescription> {
  const found = await findAgentPackage(reference, options);
  return 'packageDescriptor' in found ? found.packageDescriptor : { version: found.version, ...found.said };
}

async function findAgentPackage(reference: string, options: LoadOptions): Promise<AgentPackage | ImportablePackage> {
  const { resolveFrom, version: range } = options;
  if (reference.startsWith(BUILT_IN)) {
    const builtIn = await loadBuiltIn(reference.slice(BUILT_IN.length));
    await checkVersion(reference, builtIn.packageDescriptor, range, 'it comes with uwf; change the range');
    return builtIn;
  }
  if (!PACKAGE_NAME.test(reference)) {
    throw new AgentMissing(`'${reference}' is not the name of an agent package`, {
      subject: reference,
      hint: `use ${builtInNames().join(', ')} or the name of an npm package`,
    });
  }
  const found = findPackage(reference, resolveFrom) ?? findPackage(reference, packageRoot());
  if (found === undefined) {
    throw new AgentMissing(`the agent package '${reference}' is not installed`, {
      subject: reference,
      hint: `run 'npm install ${reference}' in ${resolveFrom}`,
    });
  }
  const wanted = range !== undefined && /[\s|<>*]/u.test(range) ? `'${reference}@${range}'` : `${reference}@${range}`;
  await checkVersion(reference, found, range, `run: npm install ${wanted}`);
  const { entry, folder } = found;
  if (entry !== undefined) return { ...found, entry };
  throw new AgentBroken(`the package '${reference}' in ${folder} offers nothing to import`, {
    hint: "its package.json needs 'exports' with a '.' for import",
  });
}

/** Names of the agents that uwf brings along, as a configuration refers to them. */
export function builtInNames(): string[] {
  return Object.keys(builtInAgents).map((name) => BUILT_IN + name);
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

async function checkVersion(
  reference: string,
  { version, folder }: { version: string; folder?: string },
  range: string | undefined,
  hint: string,
): Promise<void> {
  if (range === undefined || (await satisfiesRange(version, range))) return;
  const place = folder === undefined ? '' : ` in ${folder}`;
  const message = `the agent package '${reference}' is installed as ${version}${place}, and ${range} is wanted`;
  throw new AgentMissing(message, { subject: reference, hint });
}

async function importPackage(reference: string, { entry, folder }: ImportablePackage): Promise<unknown> {
  try {
    const { importModule } = await import('./import-module.ts');
    return await importModule(entry);
  } catch (cause) {
    throw new AgentBroken(`the agent package '${reference}' in ${folder} cannot be loaded: ${String(cause)}`, {
      hint: 'install it again, or look for a newer version',
      cause,
    });
  }
}

/** @throws {AgentBroken} when the module is not one that makes agents; `createAgent` rejects with it when it made none */
function adoptPackage(
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
