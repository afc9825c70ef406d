import type { Agent } from '../agent/contract.ts';
import type { AgentBinding } from '../agent/agent-binding.ts';
import { checkAgent, createConfiguredAgent } from '../agent/load-agent.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import { CAS_KEY } from '../schema/links.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import { admitAgent } from './admission.ts';
import { configRoot, getAgent, getBinding } from './config.ts';
import type { EngineContext } from './context.ts';
import { DEFINITION_KEY, pinnedSubWorkflow, subWorkflowOf } from './sub-workflow.ts';

/**
 * Makes the agent that does a role on this machine, and the record of it that is stored with the step, once it was admitted.
 * @param wanted the name of an agent, instead of the configured one
 * @throws {AgentMissing} if none is bound, or its package is not installed
 * @throws {UnknownAgent} if none is called as `wanted` says
 * @throws {AgentConfigInvalid} naming the key
 */
export async function prepareAgent(
  context: EngineContext,
  workflow: string,
  { role, cwd, isRecorded = false }: { role: string; cwd: string; isRecorded?: boolean },
  state: ThreadState,
  wanted?: string,
): Promise<{ agent: Agent; record: AgentRecord }> {
  const { config } = context;
  const binding = wanted === undefined ? getBinding(config, workflow, role) : getAgent(config, wanted);
  const admitted = await admitAgent(context, binding, { role, cwd, state, isRecorded });
  const name = subWorkflowOf(binding);
  const pinned = name === undefined ? undefined : await pinnedSubWorkflow(context, state, role, name);
  const { agent, record } = await createConfiguredAgent(admitted, packageFolder(context));
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

function packageFolder(context: EngineContext): { resolveFrom: string } {
  return { resolveFrom: configRoot(context.repository) ?? context.cwd };
}
