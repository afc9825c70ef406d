import { UwfError } from '../../errors.ts';
import { formatInstruction } from '../../agent/extract/format-instruction.ts';
import { readCarriedCompaction } from '../../thread/append-step.ts';
import {
  assembleContext,
  assembleForPerson,
  type ContextHistory,
  type ContextParent,
  type ContextParts,
  isRoleAlone,
} from '../../thread/agent-context.ts';
import { readHistory, toContextStep } from '../../thread/context-history.ts';
import { readStandingAnswer } from '../../thread/exchange.ts';
import { findStart, findStepByNumber } from '../../thread/thread-chain.ts';
import { callerCommit, type ThreadState } from '../../thread/thread-state.ts';
import { isPerson } from '../../schema/built-in/workflow.ts';
import { isIsolated, type RoleDefinition, type WorkflowDefinition } from '../../workflow/definition.ts';
import { admitWish, commonRequest, prepareAgent } from '../agents/admission.ts';
import { readSession } from './step-folder.ts';
import { TurnCalls } from '../children/turn-calls.ts';
import type { Deciding, Reading } from '../engine-context.ts';
import { findOpenTurns } from '../recovery/turn-log.ts';
import { isRecording, snapshotMode } from '../workspace/record-workspace.ts';
import { roomFor } from '../config/config.ts';
import { allowanceOf, catchUpUnderBudget } from '../limits/allowance.ts';
import { combineLimits, findLimitReached, TurnClock, watchUsage } from '../limits/limits.ts';
import { runTreeOf } from '../limits/enter-run-tree.ts';
import { compactIfLarge } from '../verbs/compact.ts';
import { workingFolder, workingPlace } from '../isolation/work-place.ts';
import type { ChosenStep, PreparedStep, RoleChoice } from './step.ts';

/**
 * Puts together all that a role's turn needs, without running or storing anything.
 * @param isPaid whether its reply has arrived already, so that no limit keeps it from being stored
 * @throws {AgentMissing} if this machine has no agent for the role
 * @throws {UwfError} `working-folder-outside` if the role is to work elsewhere than in a work tree of the repository
 */
export async function prepareStep(step: ChosenStep, isPaid: boolean = false): Promise<PreparedStep> {
  const { engine, lease, state, definition, choice } = step;
  const { repository } = engine;
  const role = getRole(definition, choice.role);
  const place = await workingPlace(engine, state, definition, choice.role);
  const { isolation } = place;
  const folder = { cwd: role.cwd, location: choice.location };
  let cwd = workingFolder(place, choice.role, folder);
  const isRecorded = isIsolated(isolation) || isRecording(snapshotMode(engine, role.snapshot));
  const use = { workflow: definition.name, role: choice.role, cwd, isRecorded, wanted: choice.agent };
  if (place.isOwn) await admitWish(engine, state, use);
  await catchUpUnderBudget(engine, state);
  const allowance = await allowanceOf(step, choice.role, { replaced: choice.again?.step.commit });
  let limitReached = isPaid ? undefined : findLimitReached(allowance)?.text;
  if (place.isOwn && limitReached === undefined) {
    const { openWorkTree } = await import('../isolation/open-work-tree.ts');
    const location = await openWorkTree(engine, lease, state, definition.name);
    if (state.last?.node.merge !== undefined) {
      const { showConflicts } = await import('../blocks/show-conflicts.ts');
      await showConflicts(engine, location, state);
    }
    // Symbolic links in the work tree can be followed only now.
    cwd = workingFolder(place, choice.role, folder);
  }
  // A person agrees to the files of a command line, too, and a new work tree has them only now.
  const { agent, record, reports } = await prepareAgent(engine, state, { ...use, cwd, isFilled: place.isOwn === true });
  const number = state.tally.roles.get(choice.role)?.last ?? 0;
  const last = (await findStepByNumber(repository, state.head.id, number))?.id;
  const watch =
    limitReached === undefined ? await watchUsage(engine, state.id, { allowance, record, reports, last }) : undefined;
  if (!isPaid) limitReached ??= watch?.refusal;
  // A role that may not run is told nothing, and a summary costs money.
  const compactAt = engine.config.context?.compactAtCharacters;
  if (!choice.again && !isPaid && limitReached === undefined && compactAt !== undefined) {
    await compactIfLarge(engine, lease, state, choice.role, compactAt);
  }
  const remembered = readSession(repository, { threadId: state.id, role: choice.role, agent: record.name });
  const history = await turnHistory(step, remembered?.seen);
  // A session that knows what is not on this thread's chain is not continued.
  const session = history.seen && remembered?.id;
  const { seen: _seen, ...all } = history;
  const parts = {
    ...(await contextParts(engine, state, all, { ...choice, definition: role })),
    isCutOff: (await findOpenTurns(repository, state.id)).some((turn) => turn.role === choice.role && !turn.isHeld),
  };
  const redaction = engine.redaction();
  // Secrets in the other texts are not counted: those texts are in the prompt too, or are not stored.
  const beside = engine.redaction();
  const whole = assembleContext(parts);
  const prompt = redaction.text(session === undefined ? whole : assembleContext({ ...parts, seen: history.seen }));
  // A step that is done again has had the answer.
  const answer = choice.again ? undefined : await readStandingAnswer(repository, state.pauses, choice.role);
  const calls = new TurnCalls(engine, state, choice.role, choice.again?.as ?? state.id);
  const limits = combineLimits(allowance.ofThread, allowance.ofRole);
  const clock = new TurnClock(choice.role, limits, engine.signal);
  if (limitReached !== undefined) clock.stop();
  // What people asked for when they took the thread up again after it had ended.
  const wishes = history.reopenings.flatMap((part) => (part.kind === 'resumed' && part.words) || []);
  const tree = runTreeOf(engine, { id: state.id, depth: state.start.node.depth }, limits);
  const forPerson = beside.value(tellPerson(state, definition, parts));
  // What a person was shown beside the question is in the thread.
  const recorded = isPerson(record) ? forPerson.question : prompt;
  const request: PreparedStep['request'] = {
    ...commonRequest(engine, state.id, choice.role, { cwd, isOwn: place.isOwn, tree }, redaction),
    prompt,
    promptWithoutSession: session === undefined ? prompt : beside.text(whole),
    task: beside.text([state.prompt, ...wishes].join('\n\n')),
    edgePrompt: choice.prompt && beside.text(choice.prompt),
    forPerson,
    // An agent may change it for its model; its reply is held to the role's own.
    outputSchema: structuredClone(role.schema),
    visit: history.own.visits,
    session,
    answer: answer && beside.text(answer.text),
    question: choice.isAnswered ? answer?.question : undefined,
    runChild: (call) => calls.run(call),
    // A question to a person is stored first: `putQuestion` asks then, and others can answer it, too.
    ...(isPerson(record) && { askPerson: undefined }),
  };
  const turn = { role, isolation, agent, record, allowance, limitReached, watch, request, recorded, clock, calls };
  return { ...step, ...turn, redaction };
}

/** What a person is told who takes a role's turn. Of a branch that has no other role, the task is the question. */
export function tellPerson(
  { start }: ThreadState,
  definition: WorkflowDefinition,
  parts: ContextParts,
): { briefing: string; question: string } {
  const edgePrompt = parts.edgePrompt ?? parts.task;
  return assembleForPerson(isRoleAlone(start.node, definition) ? { ...parts, edgePrompt } : parts);
}

/** @throws {UwfError} `unknown-role` */
export function getRole({ name, roles }: WorkflowDefinition, role: string): RoleDefinition {
  const definition = roles[role];
  if (definition) return definition;
  throw new UwfError(`workflow ${name} has no role '${role}'`, {
    code: 'unknown-role',
    kind: 'usage',
    hint: `its roles are ${Object.keys(roles).join(', ')}`,
    facts: { workflow: name, role },
  });
}

/** Reads what the turn is told of earlier ones. A step that is done again is told what it was told before. */
async function turnHistory(
  { engine, state, choice: { role, again } }: ChosenStep,
  lastSeen: string | undefined,
): Promise<ContextHistory> {
  const { repository } = engine;
  // A session that has seen the step that is done again has seen all before it.
  const seen = again && lastSeen === again.step.commit.id ? state.head.id : lastSeen;
  const maxCharacters = roomFor(engine.config);
  const history = await readHistory(repository, state, { role, seen, maxCharacters });
  const summary = again && (await readCarriedCompaction(repository, again.step.commit));
  return summary === undefined ? history : { ...history, compact: { summary, steps: state.tally.steps }, steps: [] };
}

/** The part of a thread's state that telling an agent of it needs. */
export type ContextPlace = Pick<ThreadState, 'id' | 'head' | 'start' | 'prompt'>;

/** Gathers what the agent of a role is told; see `assembleContext`. */
export async function contextParts(
  engine: Deciding,
  state: ContextPlace,
  history: ContextHistory,
  { role, definition, prompt, again }: Partial<RoleChoice> & { role: string; definition: RoleDefinition },
): Promise<ContextParts> {
  const { description, systemPrompt, extractPrompt, schema } = definition;
  return {
    threadId: state.id,
    role: { name: role, description, systemPrompt, extractPrompt },
    instruction: await formatInstruction(schema),
    task: state.prompt,
    ...history,
    edgePrompt: prompt,
    again: again && { reply: toContextStep(again.step.commit.node, again.step.text), word: again.word },
    parent: await findParent(engine, state),
    maxCharacters: roomFor(engine.config),
  };
}

/** The caller of a child thread, found on the chain that the child's start stands on. */
async function findParent({ repository }: Reading, { start }: ContextPlace): Promise<ContextParent | undefined> {
  const { parentState, parentRole } = start.node;
  const caller = callerCommit(start);
  if (parentState === null || parentRole === null || caller === undefined) return undefined;
  const callers = await findStart(repository, caller);
  if (!callers) return undefined;
  return { thread: callers.node.id, role: parentRole, stateHash: parentState, promptHash: callers.node.prompt };
}
