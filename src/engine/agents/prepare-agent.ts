import { delimiter, dirname, join } from 'node:path';
import type { Agent, AgentCas, AgentRequest } from '../../agent/contract.ts';
import { checkAgent, createConfiguredAgent, type KnownReports } from '../../agent/load/load-agent.ts';
import type { AgentBinding } from '../../agent/load/agent-binding.ts';
import { type NodeHash, parseNodeHash } from '../../cas/hash.ts';
import { withoutPlaces } from '../../git/repository/git-directory.ts';
import { packageRoot } from '../../git/system/package-root.ts';
import type { AgentRecord } from '../../schema/built-in/workflow.ts';
import { CAS_KEY } from '../../schema/find-links.ts';
import { readSaid } from '../../thread/read-said.ts';
import { threadCas } from '../../thread/thread-cas.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { StartedThread } from '../../thread/thread-state.ts';
import { DEFINITION_KEY, pinnedSubWorkflow, subWorkflowOf } from '../children/sub-workflow.ts';
import { configRoot, getAgent, getBinding } from '../config/config.ts';
import type { Machine, Reading, Telling } from '../engine-context.ts';
import { formatRunTree, RUN_TREE, type RunTree } from '../limits/run-tree.ts';
import type { Redaction } from '../redact/redaction.ts';
import { isGiven } from '../workspace/working-folder.ts';
import { admitAgent } from './admission.ts';

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
  engine: Machine & Telling,
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
  engine: Machine,
  state: StartedThread,
  { workflow, role, cwd, isRecorded = false, isFilled = false, wanted }: AgentWish,
): Promise<{ binding: AgentBinding; admitted: AgentBinding }> {
  const { config } = engine;
  const binding = wanted === undefined ? getBinding(config, workflow, role) : getAgent(config, wanted);
  return { binding, admitted: await admitAgent(engine, binding, { role, cwd, state, isRecorded, isFilled }) };
}

/** The record alone, for the start of a thread: nothing is run, and what only the package itself could tell is left out. */
export async function prepareRecord(
  engine: Machine & Telling,
  binding: AgentBinding,
  pinned: NodeHash | undefined,
): Promise<AgentRecord> {
  const { record } = await checkAgent(binding, packageFolder(engine));
  return cleanRecord(engine, record, pinned);
}

/** A record without secrets, with a link to the definition of the sub-workflow that the agent runs. */
function cleanRecord(engine: Telling, record: AgentRecord, pinned: NodeHash | undefined): AgentRecord {
  const clean = engine.redaction().value(record);
  if (pinned === undefined) return clean;
  return { ...clean, config: { ...clean.config, [DEFINITION_KEY]: { [CAS_KEY]: pinned } } };
}

function packageFolder(engine: Machine): { resolveFrom: string } {
  return { resolveFrom: configRoot(engine.repository) ?? engine.cwd };
}

/** Where an agent works; `isOwn`: in the thread's own work tree, or in an empty folder. `tree` is what its thread belongs to. */
type AgentPlace = { cwd: string; isOwn?: boolean | undefined; tree: RunTree };

/** What turns and questions have in common: all that an agent needs to work on a thread. */
export function commonRequest(
  engine: Machine,
  thread: ThreadId,
  role: string,
  place: AgentPlace,
  redaction: Redaction,
): Pick<AgentRequest, 'threadId' | 'role' | 'cwd' | 'env' | 'cas' | 'readThread' | 'askPerson'> {
  return {
    threadId: thread,
    role,
    cwd: place.cwd,
    env: agentEnvironment(engine, thread, role, place),
    cas: agentCas(engine, thread, redaction),
    readThread: (options) => readSaid(engine.repository, thread, options),
    askPerson: engine.askPerson,
  };
}

/** The thread's store in the form that agents are handed. Secrets are taken out of what they put. */
function agentCas({ repository }: Reading, thread: ThreadId, redaction: Redaction): AgentCas {
  const cas = threadCas(repository, thread);
  return {
    put: (text) => cas.put(redaction.text(text)),
    get: async (hash) => (await cas.find(parseNodeHash(hash)))?.payload,
    list: async () => (await cas.list()).map(({ hash }) => hash),
  };
}

/**
 * The environment of an agent's processes: uwf's own, with the thread, the role and a folder named in it, and uwf's
 * bin folder first on the PATH, so that an agent can shell out to `uwf cas get <hash>`.
 *
 * In another work tree than the one that the command was given in, variables of git that name that one would lead the agent
 * there: a hook has them.
 */
function agentEnvironment(
  engine: Machine,
  thread: ThreadId,
  role: string,
  { cwd, isOwn = false, tree }: AgentPlace,
): Record<string, string> {
  const { repository } = engine;
  const env = !isOwn && isGiven(engine, cwd) ? engine.env : withoutPlaces(engine.env);
  const path = [join(packageRoot(), 'bin'), env['PATH'], dirname(process.execPath)];
  return {
    ...env,
    PATH: path.filter(Boolean).join(delimiter),
    UWF_THREAD: thread,
    UWF_ROLE: role,
    [RUN_TREE]: formatRunTree(tree),
    ...(repository.location && { UWF_REPOSITORY: repository.location.commonDir }),
  };
}
