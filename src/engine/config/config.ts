import { constants } from 'node:fs';
import { join } from 'node:path';

import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { readFileInside } from '../../git/repository/git-directory.ts';
import { READ, readRegularFile } from '../../git/system/files.ts';
import type { Repository } from '../../git/repository.ts';
import { isMadeForThread, mainWorkTree } from '../../git/repository/work-trees.ts';
import { DEFAULT_MAX_CHARACTERS } from '../../thread/agent-context.ts';
import { nearestName } from '../../text/nearest-name.ts';
import {
  type ConfigContext,
  ConfigInvalid,
  type ConfigIsolation,
  type ConfigLimits,
  type ConfigMistake,
  type ConfigRedact,
  type ConfigSnapshot,
  ConfigUnreadable,
  joinRedacts,
  noAgentFor,
  type PushMode,
  UnknownAgent,
} from './config-schema.ts';
import type { AgentReference, ConfigSetting, ParsedConfig } from './parse-config.ts';
import { isNotThere } from '../../git/format/errors.ts';
import { mapValues } from '../../json.ts';

/** What is configured here: which agent does which role, and limits. Agents are bound here and nowhere else. */
export type Config = {
  /** By name. */
  agents: Record<string, AgentBinding>;
  /** The agent of every role that `roles` does not name; one of `agents`. Absent: those roles have none. */
  defaultAgent?: string;
  /** The file for lines of a repository without a work tree, absolute; absent where that is `.uwf/config.yaml`. */
  bareFile?: string;
  /** By `workflow.role` or `role`; values are names of `agents`. */
  roles: Record<string, string>;
  /** Where the files of the repository and of its git folder say it; the user's own file serves other repositories too. */
  rolesHere?: Record<string, AgentReference['place']>;
  limits?: ConfigLimits;
  /** `compactor` is one of `agents`. */
  context?: ConfigContext & { compactor?: string };
  snapshot?: ConfigSnapshot;
  /** How the work trees of threads are made. */
  isolation?: ConfigIsolation;
  /** Whether git folds small packs in the background while agents work; default: true. */
  foldPacks?: boolean;
  /** Whether a push of all threads sends those that the remote does not have yet; default: `ask`. */
  push?: PushMode;
  /** What is no secret here, what else is one, or that nothing is taken out. */
  redact?: ConfigRedact;
  /** What the files of the repository and of its git folder set beside agents, and a person has to agree to. */
  settings?: ConfigSetting[];
};

/** What the library does not find out by itself. */
export type ConfigOptions = {
  /** The folder of the user's own configuration, absolute. */
  userFolder?: string;
  /** Whether a person has agreed to what a file of the repository sets; what lets secrets out counts only then. Default: yes. */
  isAgreed?: (setting: ConfigSetting) => boolean;
};

/** A configuration is written by hand, and hostile YAML takes the parser a thousand times as much memory. */
const MAX_BYTES = 64 * 1024;

/**
 * The work tree whose configuration, and the programs and packages that it names, count: the one that the repository was
 * found by, but the main one instead of one that uwf made for a thread, whose files are what an agent left.
 */
export function configRoot({ location }: Pick<Repository, 'location'>): string | undefined {
  if (location === undefined || !isMadeForThread(location)) return location?.workTree;
  return mainWorkTree(location);
}

/**
 * Reads the configuration: `config.yaml` of the user's own folder, over it `.uwf/config.yaml` of the work tree, and over
 * both `<common dir>/uwf/config.yaml` of this machine.
 *
 * Each wins by agent, role and limit over those below. A bare repository has no work tree's file: nothing out of a ref, a
 * node or a fetched object ever says what is executed. A file that is not there configures nothing. Whether what the
 * repository's files name may run is not decided here; `isUsersOwn` and `settings` tell what did not come from the user.
 * @throws {ConfigInvalid} with every mistake of all files and its place
 * @throws {ConfigUnreadable} when a file is there and cannot be read
 */
export async function loadConfig(repository: Repository, from: ConfigOptions = {}): Promise<Config> {
  const user = await readConfig(from.userFolder, 'config.yaml', (file) => readRegularFile(file, MAX_BYTES));
  for (const agent of Object.values(user?.agents ?? {})) agent.isUsersOwn = true;
  const shared = await readConfig(configRoot(repository), '.uwf/config.yaml', (file, top) =>
    readFileInside(top, file, MAX_BYTES),
  );
  // In a git folder that came from elsewhere a link may lead anywhere.
  const machine = await readConfig(repository.stateDir, 'config.yaml', (file) =>
    readRegularFile(file, MAX_BYTES, READ | constants.O_NOFOLLOW),
  );
  const files = [user, shared, machine].filter((file) => file !== undefined);
  const agents = Object.fromEntries(files.flatMap((file) => Object.entries(file.agents)));
  const roles = Object.fromEntries(files.flatMap((file) => Object.entries(file.roles)));
  const [defaultAgent, compactor, foldPacks] = [
    files.findLast((file) => file.defaultAgent !== undefined)?.defaultAgent,
    files.findLast((file) => file.compactor !== undefined)?.compactor,
    files.findLast((file) => file.foldPacks !== undefined)?.foldPacks,
  ];
  const snapshots = files.flatMap((file) => file.snapshot ?? []);
  const isolations = files.flatMap((file) => file.isolation ?? []);
  const settings = [shared, machine].flatMap((file) => file?.settings ?? []);
  const rolesHere = { ...shared?.roles, ...machine?.roles };
  const isRefused = (file: ParsedConfig, name: string): boolean =>
    file !== user && file.settings.some((one) => one.name === name && from.isAgreed?.(one) === false);
  // Without a person's agreement a file can only have more taken out, never less, and nothing more published.
  const redactOf = (file: ParsedConfig | undefined): ConfigRedact | undefined =>
    file?.redact && isRefused(file, 'redact') ? { isOff: false, rules: file.redact.rules, allow: [] } : file?.redact;
  const push = files.findLast((file) => file.push === 'ask' || (file.push === 'all' && !isRefused(file, 'push')))?.push;
  const redacts = files.flatMap((file) => redactOf(file) ?? []);
  const ownRedacts = [user, machine].flatMap((file) => redactOf(file) ?? []);
  const mistakes = files.flatMap((file) => file.mistakes);
  if (shared?.redact?.isOff === true) {
    const message = "redact: off stands in a user's or a machine's own configuration only";
    mistakes.push({ ...shared.redact.place, message });
  }
  const references = Object.entries(roles).map(([role, reference]) => ({ where: `roles.${role}`, reference }));
  if (defaultAgent !== undefined) references.push({ where: 'defaultAgent', reference: defaultAgent });
  if (compactor !== undefined) references.push({ where: 'context.compactor', reference: compactor });
  // Where a file has mistakes, an agent may be missing only because of them.
  if (mistakes.length === 0) mistakes.push(...references.flatMap((one) => faultOf(one, agents)));
  if (mistakes.length > 0) throw new ConfigInvalid(mistakes);
  const isBare = configRoot(repository) === undefined && repository.stateDir !== undefined;
  return {
    agents,
    ...(isBare && { bareFile: join(repository.stateDir, 'config.yaml') }),
    roles: mapValues(roles, ({ agent }) => agent),
    ...(Object.keys(rolesHere).length > 0 && { rolesHere: mapValues(rolesHere, ({ place }) => place) }),
    limits: Object.assign({}, ...files.map((file) => file.limits)),
    context: Object.assign({}, ...files.map((file) => file.context), compactor && { compactor: compactor.agent }),
    ...(snapshots.length > 0 && { snapshot: Object.assign({}, ...snapshots) }),
    ...(isolations.length > 0 && { isolation: Object.assign({}, ...isolations) }),
    ...(redacts.length > 0 && { redact: joinRedacts(redacts, ownRedacts) }),
    ...(settings.length > 0 && { settings }),
    ...(foldPacks !== undefined && { foldPacks }),
    ...(push !== undefined && { push }),
    ...(defaultAgent !== undefined && { defaultAgent: defaultAgent.agent }),
  };
}

/**
 * Finds the agent that does a role: what `workflow.role` names, else `role`, else the default agent; `undefined` where
 * none of them is configured.
 */
export function bindingFor(config: Config, workflow: string, role: string): AgentBinding | undefined {
  const { agents, roles, defaultAgent } = config;
  const key = [`${workflow}.${role}`, role].find((name) => Object.hasOwn(roles, name));
  const agent = key === undefined ? defaultAgent : roles[key];
  return agent !== undefined && Object.hasOwn(agents, agent) ? agents[agent] : undefined;
}

/** As {@link bindingFor}. @throws {AgentMissing} where none is configured; its hint has the lines to add */
export function getBinding(config: Config, workflow: string, role: string): AgentBinding {
  const binding = bindingFor(config, workflow, role);
  if (binding === undefined) throw noAgentFor(workflow, role, config.bareFile);
  return binding;
}

/** @throws {UnknownAgent} where none is called so */
export function getAgent({ agents }: Config, name: string): AgentBinding {
  const binding = Object.hasOwn(agents, name) ? agents[name] : undefined;
  if (binding === undefined) throw new UnknownAgent(name, Object.keys(agents));
  return binding;
}

async function readConfig(
  folder: string | undefined,
  name: string,
  read: (file: string, folder: string) => Buffer,
): Promise<ParsedConfig | undefined> {
  if (folder === undefined) return undefined;
  const file = join(folder, name);
  let source: string;
  try {
    source = read(file, folder).toString('utf8');
  } catch (error) {
    if (isNotThere(error)) return undefined;
    throw new ConfigUnreadable(file, error);
  }
  const { parseConfigFile } = await import('./parse-config.ts');
  return parseConfigFile(source, file);
}

function faultOf(
  { where, reference }: { where: string; reference: AgentReference },
  agents: Config['agents'],
): ConfigMistake[] {
  const { agent, place } = reference;
  if (Object.hasOwn(agents, agent)) return [];
  const names = Object.keys(agents);
  const near = nearestName(agent, names);
  const help = near === undefined ? `there is ${names.join(', ') || 'none'}` : `did you mean '${near}'?`;
  return [{ ...place, message: `${where} names the agent '${agent}', which is not configured; ${help}` }];
}

/** How many characters of earlier replies an agent is told. */
export function roomFor({ context }: Config): number {
  return context?.maxCharacters ?? DEFAULT_MAX_CHARACTERS;
}
