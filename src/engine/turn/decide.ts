import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import { decide, decideAtLimit, type Decision, type DecisionContext, type PastSteps } from '../../moderator/decide.ts';
import { questionOf } from '../../thread/agent-context.ts';
import { standIns, stepView, type StepView } from '../../thread/step-view.ts';
import { readChain, readRoles } from '../../thread/thread-chain.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { type CommitOf, stateCommit, type ThreadState } from '../../thread/thread-state.ts';
import { END, type WorkflowDefinition } from '../../workflow/definition.ts';
import { ThreadMemory } from '../limits/allowance.ts';
import { definitionOf } from '../children/sub-workflow.ts';
import type { Deciding, Reading } from '../engine-context.ts';
import { allowanceOf } from '../limits/allowance.ts';
import { findLimitReached } from '../limits/limits.ts';
import type { Ending, RoleChoice, Step } from './step.ts';

/** Reads what the next decision of a thread depends on. */
export async function openStep<Engine extends Reading>(engine: Engine, state: ThreadState): Promise<Step<Engine>> {
  const definition = await definitionOf(engine, state);
  const decisions = decisionContext(engine.repository, state, definition.name);
  return { engine, state, definition, decisions };
}

/** Chooses the role that takes the next turn, or decides that the thread ends. */
export async function chooseRole(step: Step<Deciding>, forcedRole?: string): Promise<RoleChoice | Ending> {
  // A suspended turn that a person forced goes on with the role it had.
  const paused = step.state.pauses.findLast((pause) => pause.kind === 'suspend');
  const role = forcedRole ?? (paused?.node.rule === null ? paused.node.role : undefined);
  if (role !== undefined) return forceRole(step, role);
  return atLimit(step, await decide(step.definition.moderator, step.decisions));
}

/** Gives a role the turn. One that the rules choose anyway is not forced. */
export async function forceRole(
  { definition: { moderator }, decisions }: Step<Reading>,
  role: string,
): Promise<RoleChoice> {
  const decision = await decide(moderator, decisions);
  return isRole(decision, role) ? decision : forced(role, null);
}

/** Chooses the role of a step that is done again: the rule that gave the turn gives it again, with all that it says. */
export async function chooseAgain(
  { definition: { moderator }, decisions }: Step<Reading>,
  { role, rule }: CommitOf<'step'>['node'],
): Promise<RoleChoice> {
  if (rule === null) return forced(role, null);
  for (const decision of [await decide(moderator, decisions), await decideAtLimit(moderator, decisions)]) {
    if (isRole(decision, role) && decision.rule === rule) return decision;
  }
  return forced(role, rule);
}

function isRole(decision: Decision | undefined, role: string): decision is Extract<Decision, { kind: 'role' }> {
  return decision?.kind === 'role' && decision.role === role;
}

function forced(role: string, rule: number | null): RoleChoice {
  return { kind: 'role', role, rule, prompt: undefined, location: undefined };
}

/**
 * Replaces a decision whose role may not run because of a limit by the decision of a rule for limits (`on: limit`), if one
 * fits and leads to the end or to a role that may run.
 */
export async function atLimit(step: Step<Deciding>, decision: Decision): Promise<Decision> {
  const { moderator } = step.definition;
  if (!moderator.some(({ on }) => on === 'limit')) return decision;
  const isKept = async (next: Decision): Promise<boolean> =>
    next.kind === 'role' && findLimitReached(await allowanceOf(step, next.role)) !== undefined;
  if (!(await isKept(decision))) return decision;
  const instead = await decideAtLimit(moderator, step.decisions);
  return instead === undefined || (await isKept(instead)) ? decision : instead;
}

/** What a person is asked who takes a role's turn, as it is stored. */
export function askedOf({ state, definition }: Step<Reading>, { role, prompt }: RoleChoice): string {
  return questionOf({ start: state.start.node, definition, task: state.prompt }, role, prompt);
}

/** A decision as the journal has it. */
export function journalFacts(choice: RoleChoice | Ending): JsonObject {
  if (choice.kind === 'role') return { role: choice.role, rule: choice.rule };
  if (choice.kind === 'end') return { end: choice.returnCode, rule: choice.rule };
  return { [choice.kind]: choice.error.message };
}

type LastDecision = { after: string; decision: Promise<Decision> };

/**
 * The last decision that this process has made of each thread: a step is decided after once before it is stored, and once after. Branches
 * work at once, so one for a repository would not do.
 */
const lastDecisions = new WeakMap<Repository, Map<ThreadId, LastDecision>>();
const MAX_LAST = 1000;

/** A step waits no longer for its rules before it is stored. */
const MAX_WAIT_MS = 250;

/**
 * Decides who is next after a step by the rules alone.
 * @param imagined the repository with the step, while it is not stored
 */
export function decideAfter(
  { repository }: Reading,
  state: ThreadState,
  { name, moderator }: WorkflowDefinition,
  imagined?: Repository,
): Promise<Decision> {
  const { id, commit } = stateCommit(state);
  // What the message of a step tells changes its id, and not what rules see.
  const after = state.last === undefined ? id : `${commit.tree} ${commit.parents[0]}`;
  const decisions = lastDecisions.get(repository) ?? new Map<ThreadId, LastDecision>();
  lastDecisions.set(repository, decisions);
  const last = decisions.get(state.id);
  if (last?.after === after) return last.decision;
  if (decisions.size >= MAX_LAST) decisions.clear();
  const decision = decide(moderator, decisionContext(repository, state, name, imagined));
  decisions.set(state.id, { after, decision });
  return decision;
}

/** For the message of a step that is about to be stored: the next role, or {@link END}; `undefined` if rules are undecided or slow. */
export async function nextAfter(
  engine: Reading,
  state: ThreadState,
  definition: WorkflowDefinition,
  imagined: Repository,
): Promise<string | undefined> {
  // The step was paid for, and is stored whatever the rules come to.
  const decided = decideAfter(engine, state, definition, imagined).catch(() => undefined);
  const decision = await Promise.race([decided, sleep(MAX_WAIT_MS, undefined, { ref: false })]);
  if (decision === undefined || decision.kind === 'undecided') return undefined;
  return decision.kind === 'role' ? decision.role : END;
}

/**
 * What the moderator decides from. Rules read the steps that they can see.
 * @param imagined where they are read, if the newest step is not stored yet
 */
export function decisionContext(
  repository: Repository,
  state: ThreadState,
  workflow: string,
  imagined: Repository = repository,
): DecisionContext {
  const { id, depth, startedAtMs } = state.start.node;
  return {
    threadId: id,
    start: { prompt: state.prompt, workflow, depth, startedAtMs },
    steps: pastSteps(repository, state, imagined),
    // It was taken up again after its end, and no role has finished a step since.
    isResumed: state.pauses[0]?.kind === 'resume',
  };
}

type Place = Pick<ThreadState, 'head' | 'start' | 'last' | 'tally'>;

/** A step that was read, and its commit. */
type ReadStep = { id: ObjectId; number: number; view: StepView };

/** Consecutive steps, oldest first: the newest ones of the last decision, and all up to one. */
type ReadSteps = { newest: readonly ReadStep[]; all: readonly ReadStep[] };

/** What a command has read of a thread. Commits never change, and a run decides after every step. */
type Memory = {
  withTexts: ReadSteps;
  withoutTexts: ReadSteps;
};

const memories = new ThreadMemory<Memory>();

/**
 * The steps of a thread for its rules. Each rule reads no more than it can see: what it sees of the newest steps, of counts,
 * and of a role's first and last step costs the same however long the thread is.
 * @param imagined where they are read, if the newest step is not stored yet
 */
export function pastSteps(repository: Repository, state: Place, imagined: Repository = repository): PastSteps {
  const from = { repository, imagined };
  return {
    lastRole: state.last?.node.role,
    async seenBy({ newest, counts, visits, ends, members }) {
      if (members !== undefined) {
        const isTold = members.has('text') || newest > 0;
        return { steps: await readViews(from, state, 'all', isTold, Infinity) };
      }
      const steps = await readViews(from, state, 'newest', true, newest);
      const seen = { steps: counts ? [...standIns(state.tally.roles, steps), ...steps] : steps };
      if (!visits && !ends) return seen;
      return { ...seen, roles: await readRoles(imagined, state, ends) };
    },
  };
}

function memoryOf(repository: Repository, thread: Place): Memory {
  const known = memories.get(repository, thread);
  if (known !== undefined) return known;
  const none = (): ReadSteps => ({ newest: [], all: [] });
  const memory: Memory = { withTexts: none(), withoutTexts: none() };
  memories.set(repository, thread, memory);
  return memory;
}

/** Reads the newest steps, or all, oldest first: those that are new since the last decision. */
async function readViews(
  { repository, imagined }: { repository: Repository; imagined: Repository },
  state: Place,
  which: keyof ReadSteps,
  hasTexts: boolean,
  count: number,
): Promise<StepView[]> {
  if (count === 0 || state.last === undefined) return [];
  // Steps that were read without their texts do not serve a rule that looks at them.
  const memory = memoryOf(repository, state)[hasTexts ? 'withTexts' : 'withoutTexts'];
  memory[which] = await readBack(imagined, state, memory[which], hasTexts, count);
  return memory[which].map(({ view }) => view);
}

/**
 * Reads steps from the newest back.
 * @param known consecutive steps that were read before
 * @param count how many at most
 */
async function readBack(
  repository: Repository,
  state: Place,
  known: readonly ReadStep[],
  hasTexts: boolean,
  count: number,
): Promise<readonly ReadStep[]> {
  const wanted = Math.min(count, state.tally.steps);
  const newer: ReadStep[] = [];
  for await (const commit of readChain(repository, (state.last ?? state.start).id)) {
    if (commit.kind !== 'step') continue;
    const { number } = commit.node;
    const place = number - (known[0]?.number ?? number);
    if (known[place]?.id === commit.id && newer.length + place + 1 >= wanted) {
      return [...known.slice(0, place + 1), ...newer.toReversed()].slice(-wanted);
    }
    const text = hasTexts ? await readTextAt(repository, commit, 'output.md') : '';
    newer.push({ id: commit.id, number, view: await stepView(repository, state, { commit, text }) });
    if (newer.length >= wanted) break;
  }
  return newer.toReversed();
}
