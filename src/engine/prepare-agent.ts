import type { Agent } from '../agent/contract.ts';
import type { AgentBinding } from '../agent/agent-binding.ts';
import { checkAgent, createConfiguredAgent } from '../agent/load-agent.ts';
import { parseNodeHash, type NodeHash } from '../cas/hash.ts';
import { pathName } from '../cas/path-name.ts';
import { isJsonObject } from '../json.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import { CAS_KEY } from '../schema/links.ts';
import { findNodeAt } from '../thread/thread-commit.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import { configRoot, getAgent, getBinding } from './config.ts';
import type { EngineContext } from './context.ts';

/** The key under which the record of a role that runs a sub-workflow links to the definition pinned for it. */
const DEFINITION_KEY = 'definition';

/**
 * Makes the agent that does a role on this machine, and the record of it that is stored with the step.
 * @param wanted the name of an agent, instead of the configured one
 * @throws {AgentMissing} if none is bound, or its package is not installed
 * @throws {UnknownAgent} if none is called as `wanted` says
 * @throws {AgentConfigInvalid} naming the key
 */
export async function prepareAgent(
  context: EngineContext,
  workflow: string,
  role: string,
  state: ThreadState,
  wanted?: string,
): Promise<{ agent: Agent; record: AgentRecord }> {
  const { config } = context;
  const binding = wanted === undefined ? getBinding(config, workflow, role) : getAgent(config, wanted);
  const name = subWorkflowOf(binding);
  const pinned = name === undefined ? undefined : await pinnedSubWorkflow(context, state, role, name);
  const { agent, record } = await createConfiguredAgent(binding, packageFolder(context));
  return { agent, record: withDefinition(clean(context, record), pinned) };
}

/** The record alone, for the start of a thread: nothing is run, and what only the package itself could tell is left out. */
export async function prepareRecord(
  context: EngineContext,
  binding: AgentBinding,
  pinned: NodeHash | undefined,
): Promise<AgentRecord> {
  const { record } = await checkAgent(binding, packageFolder(context));
  return withDefinition(clean(context, record), pinned);
}

function clean(context: EngineContext, record: AgentRecord): AgentRecord {
  return context.redaction().value(record);
}

function withDefinition(record: AgentRecord, pinned: NodeHash | undefined): AgentRecord {
  if (pinned === undefined) return record;
  return { ...record, config: { ...record.config, [DEFINITION_KEY]: { [CAS_KEY]: pinned } } };
}

/** The workflow that a binding runs as a child thread; `undefined` for every other agent. */
export function subWorkflowOf(binding: AgentBinding): string | undefined {
  const name = binding.package === 'builtin:workflow' ? binding.config['workflow'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * The definition of a sub-workflow that was pinned when the thread started, provided that the role still calls the
 * workflow of that name.
 */
export async function pinnedSubWorkflow(
  context: EngineContext,
  state: ThreadState,
  role: string,
  name: string,
): Promise<NodeHash | undefined> {
  const stored = await findNodeAt(context.repository, state.start, `agents/${pathName(role)}.json`);
  if (!isJsonObject(stored?.payload) || !isJsonObject(stored.payload['config'])) return undefined;
  const { workflow, [DEFINITION_KEY]: link } = stored.payload['config'];
  const hash = isJsonObject(link) ? link[CAS_KEY] : undefined;
  return workflow === name && typeof hash === 'string' ? parseNodeHash(hash) : undefined;
}

function packageFolder(context: EngineContext): { resolveFrom: string } {
  return { resolveFrom: configRoot(context.repository) ?? context.cwd };
}
