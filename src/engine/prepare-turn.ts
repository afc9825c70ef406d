import type { NodeHash } from '../cas/hash.ts';
import type { JsonObject } from '../json.ts';
import { checkReply } from '../moderator/check-reply.ts';
import type { DecisionContext } from '../moderator/decision.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import { collectRefs } from '../schema/links.ts';
import { readCarriedCompaction } from '../thread/compaction.ts';
import { historyOf, type ContextHistory } from '../thread/context-history.ts';
import { readSaid } from '../thread/read-said.ts';
import { resolveLinks, type LinkResolution } from '../thread/resolve-links.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { RoleDefinition, WorkflowDefinition } from '../workflow/definition.ts';
import { agentCas } from './agent-cas.ts';
import { agentEnvironment } from './agent-environment.ts';
import { buildContext, readAnswer } from './build-context.ts';
import type { RoleChoice } from './choose-role.ts';
import { compactIfLarge } from './compact.ts';
import type { EngineContext } from './context.ts';
import { UnknownRole } from './engine-errors.ts';
import type { Lease } from './lease.ts';
import { combineLimits, findBudgetExceeded, findLimitReached } from './limits.ts';
import { prepareAgent } from './prepare-agent.ts';
import { readSession } from './sessions.ts';
import { TurnClock } from './turn-clock.ts';
import type { TurnRequest } from './turn.ts';
import { workingFolder } from './working-folder.ts';

const DEFAULT_RETRIES = 2;

/** A turn that is ready to be taken. */
export type PreparedTurn = {
  prompt: string;
  record: AgentRecord;
  /** Why the role may not run now. */
  limitReached: string | undefined;
  turn: TurnRequest;
  /** Finds what the reply's meta links to. */
  resolve: (meta: JsonObject) => Promise<LinkResolution>;
};

/**
 * Puts together all that a role's turn needs, without running or storing anything.
 * @throws {AgentMissing} if this machine has no agent for the role
 * @throws {UnknownRole} if the workflow has no such role
 * @throws {WorkingFolderOutside} if the role is to work elsewhere than in a work tree of the repository
 */
export async function prepareTurn(
  context: EngineContext,
  lease: Lease,
  state: ThreadState,
  definition: WorkflowDefinition,
  decisions: DecisionContext,
  choice: RoleChoice,
): Promise<PreparedTurn> {
  const { role } = choice;
  const roleDefinition = definition.roles[role];
  if (!roleDefinition) throw new UnknownRole(definition.name, role, Object.keys(definition.roles));
  const cwd = workingFolder(context, role, { cwd: roleDefinition.cwd, location: choice.location });
  const { agent, record } = await prepareAgent(context, definition.name, role, state, choice.agent);
  const limits = combineLimits(context.config.limits, definition.limits, state.start.node.limits);
  const ofRole = roleDefinition.limits ?? {};
  const session = readSession(context.repository, { threadId: state.id, role, agent: record.name });
  const told = { role, definition: roleDefinition, edgePrompt: choice.prompt, again: choice.again };
  const steps = state.steps.map((step) => step.commit.node);
  const sinceResume = steps.slice(state.stepsAtLastResume);
  // Who has a step done again has been asked already whether the role may go.
  const limitReached = choice.again ? undefined : findLimitReached(limits, ofRole, role, sinceResume);
  // A role that may not go is told nothing, and summing up costs money.
  if (!choice.again && limitReached === undefined) await compactIfLarge(context, lease, state, role);
  const history = await turnHistory(context, state, choice);
  const prompt = await buildContext(context, state, history, { ...told, hasSession: session !== undefined });
  const promptWithoutSession =
    session === undefined ? prompt : await buildContext(context, state, history, { ...told, hasSession: false });
  const answer = await readAnswer(context, state);
  const resolve = (meta: JsonObject): Promise<LinkResolution> =>
    resolveLinks(context.repository, state, collectRefs(roleDefinition.schema, meta));
  const clock = new TurnClock(role, combineLimits(limits, ofRole), context.signal);
  const turn: TurnRequest = {
    agent,
    clock,
    retries: roleDefinition.retries ?? DEFAULT_RETRIES,
    findExceeded: (usage) => findBudgetExceeded(limits, ofRole, role, sinceResume, usage),
    onProcessGroup: (pgid) => lease.setProcessGroup(pgid),
    findFaults: (meta) => findFaults(roleDefinition, decisions, meta, resolve),
    request: {
      threadId: state.id,
      role,
      prompt,
      promptWithoutSession,
      task: state.prompt,
      edgePrompt: choice.prompt,
      cwd,
      outputSchema: roleDefinition.schema,
      visit: steps.filter((step) => step.role === role).length,
      session,
      answer,
      env: agentEnvironment(context, { threadId: state.id, role }),
      cas: agentCas(context.repository, state.id),
      readThread: (options) => readSaid(context.repository, state.id, options),
      runChild: (request) => context.runChild(context, state, { ...request, role, answer }),
      askPerson: context.askPerson,
    },
  };
  if (limitReached !== undefined) clock.stop();
  return { prompt, record, limitReached, turn, resolve };
}

/** What the turn is told of the steps before it: what the step that it does again was told, where there is one. */
async function turnHistory(context: EngineContext, state: ThreadState, choice: RoleChoice): Promise<ContextHistory> {
  const { repository } = context;
  const summary = choice.again && (await readCarriedCompaction(repository, choice.again.step.commit));
  if (summary !== undefined) return { compact: { summary, steps: state.steps.length }, steps: [] };
  return historyOf(repository, state);
}

/** What a schema cannot see: the role's own checks, and links that lead nowhere. */
async function findFaults(
  definition: RoleDefinition,
  decisions: DecisionContext,
  meta: JsonObject,
  resolve: (meta: JsonObject) => Promise<LinkResolution>,
): Promise<string[]> {
  const { missing } = await resolve(meta);
  const dangling = missing.map(
    (hash: NodeHash) =>
      `${hash} is the hash of nothing; put the content first with 'uwf cas put', which prints its hash`,
  );
  return [...dangling, ...(await checkReply(definition.check ?? [], { ...decisions, meta }))];
}
