import type { NodeHash } from '../cas/hash.ts';
import type { JsonObject } from '../json.ts';
import { checkReply } from '../moderator/check-reply.ts';
import type { DecisionContext } from '../moderator/decision.ts';
import type { AgentRecord } from '../schema/built-in/agent.ts';
import { collectRefs } from '../schema/links.ts';
import { readCarriedCompaction } from '../thread/compaction.ts';
import { historyOf, type ContextHistory, type ContextListener } from '../thread/context-history.ts';
import { readStandingAnswer } from '../thread/standing-answer.ts';
import { readSaid } from '../thread/read-said.ts';
import { resolveLinks, type LinkResolution } from '../thread/resolve-links.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { RoleDefinition, WorkflowDefinition } from '../workflow/definition.ts';
import { agentCas } from './agent-cas.ts';
import { agentEnvironment } from './agent-environment.ts';
import { buildContext, buildForPerson } from './build-context.ts';
import type { RoleChoice } from './choose-role.ts';
import { compactIfLarge } from './compact.ts';
import type { EngineContext } from './context.ts';
import { UnknownRole } from './engine-errors.ts';
import type { Lease } from './lease.ts';
import { combineLimits, findBudgetExceeded, findLimitReached } from './limits.ts';
import { prepareAgent } from './prepare-agent.ts';
import { readSession } from './sessions.ts';
import { allowanceOf } from './thread-limits.ts';
import { isRecording } from './snapshot-config.ts';
import { TurnClock } from './turn-clock.ts';
import { TurnCalls } from './turn-calls.ts';
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
  const isRecorded = isRecording(roleDefinition.snapshot ?? context.config.snapshot?.mode);
  const use = { role, cwd, isRecorded };
  const { agent, record } = await prepareAgent(context, definition.name, use, state, choice.agent);
  const allowance = await allowanceOf(context, state, definition, role, { replaced: choice.again?.step.commit });
  const remembered = readSession(context.repository, { threadId: state.id, role, agent: record.name });
  const told = { role, definition: roleDefinition, edgePrompt: choice.prompt, again: choice.again };
  const steps = state.steps.map((step) => step.commit.node);
  const limitReached = findLimitReached(allowance)?.text;
  // A role that may not go is told nothing, and summing up costs money.
  if (!choice.again && limitReached === undefined) await compactIfLarge(context, lease, state, role);
  const history = await turnHistory(context, state, choice, remembered?.seen);
  const redaction = context.redaction();
  // Of what is told beside the prompt, all is in the prompt too, or is not stored.
  const beside = context.redaction();
  const whole = await buildContext(context, state, history, { ...told, hasSession: false });
  // What a session knows that is not on this thread's chain, it had better not go on from.
  const session = history.seen && remembered?.id;
  const prompt = redaction.text(
    session === undefined ? whole : await buildContext(context, state, history, { ...told, hasSession: true }),
  );
  const promptWithoutSession = session === undefined ? prompt : beside.text(whole);
  const forPerson = beside.value(await buildForPerson(context, state, history, { ...told, hasSession: false }));
  // A step that is done again has had the answer.
  const answer = choice.again ? undefined : await readStandingAnswer(context.repository, state.chain, role);
  const resolve = (meta: JsonObject): Promise<LinkResolution> =>
    resolveLinks(context.repository, state, collectRefs(roleDefinition.schema, meta));
  const calls = new TurnCalls(context, state, role, choice.again?.as ?? state.id);
  const clock = new TurnClock(role, combineLimits(allowance.ofThread, allowance.ofRole), context.signal);
  const turn: TurnRequest = {
    agent,
    clock,
    calls,
    redaction,
    retries: roleDefinition.retries ?? DEFAULT_RETRIES,
    findExceeded: (usage) => findBudgetExceeded(allowance, usage),
    onProcessGroup: (pgid) => lease.setProcessGroup(pgid),
    findFaults: (meta) => findFaults(roleDefinition, decisions, meta, resolve),
    request: {
      threadId: state.id,
      role,
      prompt,
      promptWithoutSession,
      task: beside.text(taskOf(state.prompt, history)),
      edgePrompt: choice.prompt && beside.text(choice.prompt),
      forPerson,
      cwd,
      outputSchema: roleDefinition.schema,
      visit: steps.filter((step) => step.role === role).length,
      session,
      answer: answer && beside.text(answer.text),
      question: choice.isAnswered ? answer?.question : undefined,
      env: agentEnvironment(context, { threadId: state.id, role }),
      cas: agentCas(context, state.id, redaction),
      readThread: (options) => readSaid(context.repository, state.id, options),
      runChild: (request) => calls.run(request),
      askPerson: context.askPerson,
    },
  };
  if (limitReached !== undefined) clock.stop();
  return { prompt, record, limitReached, turn, resolve };
}

/** What the turn is told of what was before it: what the step that it does again was told, where there is one. */
async function turnHistory(
  context: EngineContext,
  state: ThreadState,
  { role, again }: RoleChoice,
  lastSeen: string | undefined,
): Promise<ContextHistory> {
  const { repository } = context;
  // Who has seen the step that is done again has seen all before it.
  const seen = again && lastSeen === again.step.commit.id ? state.head.id : lastSeen;
  const listener: ContextListener = { role, seen };
  const history = await historyOf(repository, state, listener);
  const summary = again && (await readCarriedCompaction(repository, again.step.commit));
  return summary === undefined ? history : { ...history, compact: { summary, steps: state.steps.length }, steps: [] };
}

/** What people asked for: at first, and when they took the thread up again after it had ended. */
function taskOf(prompt: string, { reopenings }: ContextHistory): string {
  return [prompt, ...reopenings.flatMap((part) => (part.kind === 'resumed' && part.words) || [])].join('\n\n');
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
