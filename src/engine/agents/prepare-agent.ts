import type { Agent } from '../../agent/contract.ts';
import type { KnownReports } from '../../agent/known-reports.ts';
import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { checkAgent, createConfiguredAgent } from '../../agent/load/load-agent.ts';
import type { NodeHash } from '../../cas/hash.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import { CAS_KEY } from '../../schema/find-links.ts';
import type { StartedThread } from '../../thread/thread-state.ts';
import { admitAgent } from './admission.ts';
import { configRoot, getAgent, getBinding } from '../config/config.ts';
import type { EngineContext } from '../engine-context.ts';
import { DEFINITION_KEY, pinnedSubWorkflow, subWorkflowOf } from '../children/sub-workflow.ts';

/** A turn or question for which an agent is made. */
type AgentWish = {
  /** The name of the workflow. */
  workflow: string;
  role: string;
  cwd: string;
  isRecorded?: boolean;
  /** Whether its own work tree has just been made or filled; see `AgentUse`. */
  isFilled?: boolean;
  /** The name of an agent, instead of the configured one. */
  wanted: string | undefined;
};

/** An agent, the record of it, and what is known of the usage that it reports; see `knownReports`. */
export type PreparedAgent = { agent: Agent; record: AgentRecord; reports: KnownReports | undefined };

/**
 * Makes the agent that does a role on this machine, once it was admitted, and the record of it that is stored with the step.
 * @throws {AgentMissing} if none is bound, or its package is not installed
 * @throws {UnknownAgent} if none is called as `wanted` says
 * @throws {AgentConfigInvalid} naming the key
 */
export async function prepareAgent(
  engine: EngineContext,
  state: StartedThread,
  wish: AgentWish,
): Promise<PreparedAgent> {
  const { role } = wish;
  const { binding, admitted } = await admitWish(engine, state, wish);
  const name = subWorkflowOf(binding);
  const pinned = name === undefined ? undefined : await pinnedSubWorkflow(engine, state, role, name);
  const { agent, record, reports } = await createConfiguredAgent(admitted, packageFolder(engine));
  return { agent, record: cleanRecord(engine, record, pinned), reports };
}

/**
 * Has the agent of a turn admitted before a work tree is made for it. {@link prepareAgent} does so again there.
 * @throws {AgentMissing} {UnknownAgent} as {@link prepareAgent}
 */
export async function admitWish(
  engine: EngineContext,
  state: StartedThread,
  { workflow, role, cwd, isRecorded = false, isFilled = false, wanted }: AgentWish,
): Promise<{ binding: AgentBinding; admitted: AgentBinding }> {
  const { config } = engine;
  const binding = wanted === undefined ? getBinding(config, workflow, role) : getAgent(config, wanted);
  return { binding, admitted: await admitAgent(engine, binding, { role, cwd, state, isRecorded, isFilled }) };
}

/** The record alone, for the start of a thread: nothing is run, and what only the package itself could tell is left out. */
export async function prepareRecord(
  engine: EngineContext,
  binding: AgentBinding,
  pinned: NodeHash | undefined,
): Promise<AgentRecord> {
  const { record } = await checkAgent(binding, packageFolder(engine));
  return cleanRecord(engine, record, pinned);
}

/** A record without secrets, with a link to the definition of the sub-workflow that the agent runs. */
function cleanRecord(engine: EngineContext, record: AgentRecord, pinned: NodeHash | undefined): AgentRecord {
  const clean = engine.redaction().value(record);
  if (pinned === undefined) return clean;
  return { ...clean, config: { ...clean.config, [DEFINITION_KEY]: { [CAS_KEY]: pinned } } };
}

function packageFolder(engine: EngineContext): { resolveFrom: string } {
  return { resolveFrom: configRoot(engine.repository) ?? engine.cwd };
}
