import type { KnownReports } from '../../agent/load/load-agent.ts';
import type { UwfError } from '../../errors.ts';
import { BrokenPackedRefs } from '../../git/format/errors.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject, type JsonValue } from '../../json.ts';
import { listNames, nearestName } from '../../text/nearest-name.ts';
import { inPlaceOf } from '../../or-else.ts';
import { tasksOf, type ThreadLimits, type WorkflowDefinition } from '../../workflow/definition.ts';
import { listWorkflowFiles, resolveWorkflow } from '../../workflow/load/resolve-workflow.ts';
import { loadWorkflow } from '../../workflow/nodes.ts';
import { listWorkflows, WorkflowNotFound } from '../../workflow/registry/find-workflow.ts';
import { subWorkflowOf } from '../children/sub-workflow.ts';
import { bindingFor, type Config } from '../config/config.ts';
import { findUnkept } from '../limits/limits.ts';
import { assertFinding, type Diagnosis, problem, warning } from './diagnosis.ts';

/** Each workflow that a name leads to from here; `undefined` where it cannot be loaded. */
export type KnownWorkflows = Map<string, WorkflowDefinition | undefined>;

/**
 * Names workflows that do not load, and roles and agents that are bound to what is not there.
 * @param workflows is filled with what was found
 */
export async function diagnoseBindings(
  repository: Repository,
  config: Config,
  cwd: string,
  workflows: KnownWorkflows,
): Promise<Diagnosis[]> {
  const found = [
    ...(await ofRegistrations(repository, workflows, cwd)),
    ...(await ofFiles(repository, cwd, workflows)),
    ...(await ofSubWorkflows(repository, config, cwd)),
  ];
  for (const [key, { file, line, column }] of Object.entries(config.rolesHere ?? {})) {
    const fault = faultOfRole(key, workflows);
    if (fault === undefined) continue;
    const message = `${file}:${line}:${column}: roles.${key} binds what is not there: ${fault.message}`;
    found.push(warning('binding-unused', message, fault.hint));
  }
  return found;
}

/** Names the environment variables that agents are to be given and that are not set. */
export function diagnoseVariables(
  { agents }: Pick<Config, 'agents'>,
  env: Readonly<Record<string, string | undefined>>,
): Diagnosis[] {
  return Object.values(agents).flatMap(({ name, config }) =>
    variablesIn(config).flatMap(({ key, variable }): Diagnosis[] => {
      // As agents read them: an empty key is none.
      if (key === 'apiKeyEnv' ? env[variable] : env[variable] !== undefined) return [];
      const diagnose = key === 'apiKeyEnv' ? problem : warning;
      const message = `agent '${name}' is to be given the environment variable ${variable} (${key}), which is not set`;
      return [diagnose('variable-not-set', message, `set it before uwf runs: export ${variable}=…`)];
    }),
  );
}

function variablesIn(value: JsonValue): { key: string; variable: string }[] {
  if (Array.isArray(value)) return value.flatMap(variablesIn);
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const names = key === 'apiKeyEnv' ? [item] : key === 'passEnv' && Array.isArray(item) ? item : undefined;
    if (names === undefined) return variablesIn(item);
    return names.flatMap((variable) => (typeof variable === 'string' ? [{ key, variable }] : []));
  });
}

async function ofRegistrations(repository: Repository, workflows: KnownWorkflows, cwd: string): Promise<Diagnosis[]> {
  // Damaged refs have a diagnosis of their own.
  const otherwise = inPlaceOf(BrokenPackedRefs, { workflows: [], unreadable: [] });
  const { workflows: registered, unreadable } = await listWorkflows(repository).catch(otherwise);
  const found: Diagnosis[] = [];
  const refuse = (name: string, ref: string, error: UwfError): void => {
    workflows.set(name, undefined);
    const hint = `register it again with 'uwf workflow add <file>', or remove it with 'uwf workflow rm ${name}'`;
    found.push(problem('registration-refused', `${ref} does not load: ${firstLine(error)}`, hint));
  };
  for (const { name, ref, commit, problem: error } of unreadable) {
    if (commit === undefined) workflows.set(name, undefined);
    else refuse(name, ref, error);
  }
  for (const { name, ref, hash } of registered) {
    try {
      const definition = await loadWorkflow(repository, hash);
      workflows.set(name, definition);
      found.push(...(await ofBranches(repository, definition, cwd)));
    } catch (error) {
      assertFinding(error);
      refuse(name, ref, error);
    }
  }
  return found;
}

async function ofFiles(repository: Repository, cwd: string, workflows: KnownWorkflows): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const { name, file } of await listWorkflowFiles(repository, cwd)) {
    try {
      const { definition } = await resolveWorkflow(repository, file, { cwd });
      workflows.set(name, definition);
      found.push(...(await ofBranches(repository, definition, cwd)));
    } catch (error) {
      assertFinding(error);
      workflows.set(name, undefined);
      const hint = `run 'uwf workflow validate ${name}'`;
      found.push(problem('workflow-broken', firstLine(error), hint));
    }
  }
  return found;
}

/** Names the workflows that branches of blocks run and that are not there. */
async function ofBranches(
  repository: Repository,
  { name, blocks = {} }: WorkflowDefinition,
  cwd: string,
): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const [block, definition] of Object.entries(blocks)) {
    const called = tasksOf(definition).flatMap(([, { workflow }]) => workflow ?? []);
    for (const workflow of new Set(called)) {
      const hint = await whyNotThere(repository, workflow, cwd);
      if (hint === undefined) continue;
      const message = `block '${block}' of workflow '${name}' runs the workflow '${workflow}', which is not there`;
      found.push(problem('workflow-not-found', message, hint));
    }
  }
  return found;
}

/** The hint for a workflow that is not there. One that has mistakes has a diagnosis as a file or a registration. */
async function whyNotThere(repository: Repository, workflow: string, cwd: string): Promise<string | undefined> {
  try {
    await resolveWorkflow(repository, workflow, { cwd });
    return undefined;
  } catch (error) {
    assertFinding(error);
    return error instanceof WorkflowNotFound ? (error.hint ?? '') : undefined;
  }
}

/** The user's own agents serve other repositories too. */
async function ofSubWorkflows(repository: Repository, { agents }: Config, cwd: string): Promise<Diagnosis[]> {
  const found: Diagnosis[] = [];
  for (const agent of Object.values(agents)) {
    const name = subWorkflowOf(agent);
    if (name === undefined || agent.isUsersOwn === true) continue;
    const hint = await whyNotThere(repository, name, cwd);
    if (hint === undefined) continue;
    const message = `agent '${agent.name}' runs the workflow '${name}', which is not there`;
    found.push(problem('workflow-not-found', message, hint));
  }
  return found;
}

/** What a key of `roles` names that does not exist, `workflow.role` or `role`; both names may have dots. */
function faultOfRole(key: string, workflows: KnownWorkflows): { message: string; hint: string } | undefined {
  const rolesOf = [...workflows].map(
    ([name, definition]) => [name, definition && Object.keys(definition.roles)] as const,
  );
  const all = rolesOf.flatMap(([, roles]) => roles ?? []);
  if (all.includes(key)) return undefined;
  const named = rolesOf.filter(([name]) => key.startsWith(`${name}.`));
  if (named.some(([name, roles]) => roles?.includes(key.slice(name.length + 1)) ?? true)) return undefined;
  const [workflow, roles = []] = named.toSorted(([a], [b]) => b.length - a.length)[0] ?? [];
  if (workflow !== undefined) {
    const role = key.slice(workflow.length + 1);
    return { message: `workflow '${workflow}' has no role '${role}'`, hint: hintAt(role, roles, `${workflow}.`) };
  }
  const dot = key.lastIndexOf('.');
  if (dot === -1) {
    // A workflow that does not load may have it.
    if ([...workflows.values()].includes(undefined)) return undefined;
    return { message: `no workflow here has a role '${key}'`, hint: hintAt(key, all) };
  }
  const [name, role] = [key.slice(0, dot), key.slice(dot + 1)];
  return { message: `there is no workflow '${name}'`, hint: hintAt(name, [...workflows.keys()], '', `.${role}`) };
}

function hintAt(name: string, known: readonly string[], before = '', after = ''): string {
  const names = [...new Set(known)];
  const near = nearestName(name, names);
  if (near !== undefined) return `did you mean '${before}${near}${after}'?`;
  const listed = names.length === 0 ? '' : `there is ${listNames(names)}; `;
  return `${listed}correct the line or remove it ('uwf workflow list' lists the workflows)`;
}

function firstLine({ message }: UwfError): string {
  return message.split('\n', 1).join('');
}

/**
 * Names the limits of the configuration and of workflows that do not hold for an agent, because it does not report what they
 * count. Agents whose reports are not known are left out.
 */
export function diagnoseLimits(
  config: Config,
  agent: { name: string; isUsersOwn?: boolean },
  reports: KnownReports,
  workflows: KnownWorkflows,
): Diagnosis[] {
  // The user's own agents serve other repositories too.
  const isUsedHere = agent.isUsersOwn !== true || config.defaultAgent === agent.name;
  const uses: { where: string; limits: (ThreadLimits | undefined)[] }[] = [
    { where: '', limits: isUsedHere ? [config.limits] : [] },
  ];
  for (const definition of workflows.values()) {
    for (const [role, { limits }] of Object.entries(definition?.roles ?? {})) {
      if (definition === undefined || bindingFor(config, definition.name, role)?.name !== agent.name) continue;
      const where = ` in ${definition.name}.${role}`;
      uses.push({ where, limits: [config.limits, definition.limits, limits] });
    }
  }
  const found = new Map<string, Diagnosis>();
  for (const { where, limits } of uses) {
    const unkept = findUnkept(agent.name, reports, limits);
    if (unkept === undefined || found.has(unkept.text)) continue;
    const diagnose = unkept.isRefused ? problem : warning;
    found.set(unkept.text, diagnose('limit-unkept', `${unkept.text}${where}`, unkept.hint));
  }
  return [...found.values()];
}
