import { createHash } from 'node:crypto';
import type { NodeHash } from '../cas/hash.ts';
import type { NodeSource } from '../cas/node.ts';
import { seenByExpression } from '../expression/analysis/compile-expression.ts';
import { ALL_SEEN, NOTHING_SEEN, seenByBoth, type StepsSeen } from '../expression/analysis/steps-seen.ts';
import type { RoleSeen } from '../expression/evaluation/scope.ts';
import { seenByTemplate } from '../expression/template/template.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import {
  checkReply,
  decide,
  decideAtLimit,
  type Decision,
  type DecisionContext,
  lastRoleOf,
  roleWhileUndecided,
} from '../moderator/decide.ts';
import { isPerson, RULES_PACKAGE } from '../schema/built-in/workflow.ts';
import type { SuspendCause } from '../schema/built-in/thread-start.ts';
import { payloadOf } from '../schema/built-in.ts';
import { questionOf } from '../thread/agent-context.ts';
import { stepView, type StepView } from '../thread/step-view.ts';
import { readTextAt, type ThreadCommit } from '../thread/thread-commit.ts';
import type { CommitOf, StepEntry } from '../thread/thread-state.ts';
import {
  END,
  findBlock,
  findRole,
  lengthOfExpressions,
  MAX_EXPRESSIONS,
  type Rule,
  tasksOf,
  type WorkflowDefinition,
} from '../workflow/definition.ts';
import { loadWorkflow } from '../workflow/nodes.ts';
import { type BlockBasis, checkBlock, checkBlockTurn, hasMark, isMarked } from './check-block.ts';
import { StepHistory, type TimeBudget, timeoutOf } from './step-history.ts';
import type { CommitPlace, ThreadProgress } from './thread-progress.ts';

/** A definition is small, but a remote controls how many there are, so the cache is bounded. */
const MAX_DEFINITIONS = 50;
/** How much memory the steps of a fetched thread may take. */
const MAX_HISTORY_BYTES = 16 * 1024 * 1024;

type Rules = { definition: WorkflowDefinition; seen: StepsSeen };

/**
 * Replays the decisions of stored threads: makes them again from the stored workflow and steps, and reports each commit that
 * differs. No agent is run.
 * @param budget limits the time that workflows of others may take; absent if the user asked about one thread
 */
export class Replayer {
  readonly repository: Repository;
  readonly budget: TimeBudget | undefined;
  readonly #known = new Map<string, Rules>();

  constructor(repository: Repository, budget?: TimeBudget) {
    this.repository = repository;
    this.budget = budget;
  }

  begin(start: CommitOf<'start'>, prompt: string): Replay {
    return new Replay(this, start, prompt);
  }

  async rulesOf(start: CommitOf<'start'>, nodes: NodeSource): Promise<Rules> {
    const key = workflowKey(start);
    const rules = this.#known.get(key) ?? (await loadRules(start.node.workflow, nodes));
    if (this.#known.size >= MAX_DEFINITIONS) this.#known.clear();
    this.#known.set(key, rules);
    return rules;
  }
}

/** Identifies a workflow by its hash and its blobs: with forged hashes, two threads can have different nodes of one hash. */
function workflowKey({ node, index }: CommitOf<'start'>): string {
  const digest = createHash('sha256').update(node.workflow);
  for (const { hash, oid, path } of index) if (path.startsWith('workflow/')) digest.update(`${hash} ${oid}\n`);
  return digest.digest('base64');
}

async function loadRules(hash: NodeHash, nodes: NodeSource): Promise<Rules> {
  const definition = await loadWorkflow(nodes, hash);
  // Longer expressions take long to analyse, and those of a fetched thread are not evaluated.
  const isTooLong = lengthOfExpressions(definition) > MAX_EXPRESSIONS;
  return { definition, seen: isTooLong ? ALL_SEEN : await stepsSeenByRules(definition) };
}

/** The replay of one thread, commit by commit. */
export class Replay {
  readonly #replayer: Replayer;
  readonly #start: CommitOf<'start'>;
  readonly #prompt: string;
  #rules: Rules | undefined;
  #history: StepHistory | undefined;
  /** The last decision, and the commit after which it was made. */
  #last: { head: ObjectId; decision: Decision } | undefined;

  constructor(replayer: Replayer, start: CommitOf<'start'>, prompt: string) {
    this.#replayer = replayer;
    this.#start = start;
    this.#prompt = prompt;
  }

  /** What the rules can see of the steps. */
  async seen(nodes: NodeSource): Promise<StepsSeen> {
    return (await this.#rulesBy(nodes)).seen;
  }

  /** Begins with steps that were verified before, as {@link StepHistory.begin}. */
  async resume(roles: ReadonlyMap<string, RoleSeen>, newest: readonly StepEntry[], nodes: NodeSource): Promise<void> {
    const history = await this.#historyOf(nodes);
    history.begin(roles, await Promise.all(newest.map((step) => this.#viewOf(step))));
  }

  async add(commit: CommitOf<'step'>, text: string, nodes: NodeSource): Promise<void> {
    const history = await this.#historyOf(nodes);
    history.add(await this.#viewOf({ commit, text }));
    this.#last = undefined;
  }

  async #historyOf(nodes: NodeSource): Promise<StepHistory> {
    const { seen } = await this.#rulesBy(nodes);
    // A user who asks about a thread of their own gets an answer, whatever memory it takes.
    this.#history ??= new StepHistory(seen, this.#replayer.budget === undefined ? Infinity : MAX_HISTORY_BYTES);
    return this.#history;
  }

  #viewOf(step: StepEntry): Promise<StepView> {
    return stepView(this.#replayer.repository, { start: this.#start }, step);
  }

  /**
   * Returns what a commit decides otherwise than the rules, a sentence each.
   * @param before the thread up to the commit
   * @param threads the further parents that are commits of threads
   */
  async check(
    before: ThreadProgress,
    commit: ThreadCommit,
    nodes: NodeSource,
    threads: ReadonlyMap<ObjectId, CommitPlace> = new Map(),
  ): Promise<string[]> {
    if (commit.kind === 'start' || commit.kind === 'resume') return [];
    const { definition } = await this.#rulesBy(nodes);
    const work = (passed: () => void): Promise<string[]> =>
      this.#check(before, commit, definition, { nodes, threads, passed });
    return this.#replayer.budget?.spend(this.#start.node.workflow, definition, work) ?? work(() => {});
  }

  /**
   * Returns what the message of a step tells otherwise than the rules, a sentence each; nothing where these are undecided here.
   * @param after the thread up to the step
   * @param told who is next
   */
  async checkNext(after: ThreadProgress, told: string, nodes: NodeSource): Promise<string[]> {
    const { definition } = await this.#rulesBy(nodes);
    const work = async (): Promise<string[]> => {
      const decision = await this.#decide(after, definition.moderator, definition);
      const wanted = decision.kind === 'role' ? decision.role : decision.kind === 'undecided' ? told : END;
      return told === wanted ? [] : [`its message says that ${told} is next; by the rules ${describe(decision)}`];
    };
    return this.#replayer.budget?.spend(this.#start.node.workflow, definition, work) ?? work();
  }

  #contextAt(progress: ThreadProgress, definition: WorkflowDefinition): DecisionContext {
    const { id, depth, startedAtMs } = this.#start.node;
    return {
      threadId: id,
      start: { prompt: this.#prompt, workflow: definition.name, depth, startedAtMs },
      steps: this.#history?.steps() ?? [],
      isResumed: progress.isReopened,
    };
  }

  /** Decides after a commit. What its message tells is decided once for it and for the commit that follows. */
  async #decide(at: ThreadProgress, moderator: readonly Rule[], definition: WorkflowDefinition): Promise<Decision> {
    const isWhole = moderator === definition.moderator;
    if (isWhole && this.#last?.head === at.head.id) return this.#last.decision;
    const decision = await decide(moderator, this.#contextAt(at, definition));
    if (isWhole) this.#last = { head: at.head.id, decision };
    return decision;
  }

  async #rulesBy(nodes: NodeSource): Promise<Rules> {
    return (this.#rules ??= await this.#replayer.rulesOf(this.#start, nodes));
  }

  async #check(
    before: ThreadProgress,
    commit: CommitOf<'step' | 'suspend' | 'end'>,
    definition: WorkflowDefinition,
    { nodes, threads, passed }: { nodes: NodeSource } & Pick<BlockBasis, 'threads' | 'passed'>,
  ): Promise<string[]> {
    const context = this.#contextAt(before, definition);
    const { repository, budget } = this.#replayer;
    const unlessTimedOut = <D extends Decision | undefined>(decision: D): D => {
      // How far a rule gets before its timeout differs between machines.
      if (budget !== undefined && decision?.kind === 'undecided' && timeoutOf(decision.error)) throw decision.error;
      return decision;
    };
    const moderator = rulesFor(commit, definition, lastRoleOf(context.steps));
    const again: Again = {
      decide: async (isForced = false) => {
        const decision = await this.#decide(before, moderator, definition);
        return isForced ? decision : unlessTimedOut(decision);
      },
      decideAtLimit: async () => unlessTimedOut(await decideAtLimit(moderator, context)),
    };
    if (commit.kind === 'end') return checkEnd(repository, again, this.#history?.lastText, commit);
    const faults = await checkTurn(commit, again, { definition, start: this.#start, task: this.#prompt, nodes });
    const block = findBlock(definition, commit.node.role);
    if (commit.kind === 'suspend') return faults;
    if (block !== undefined) {
      return [...faults, ...(await checkBlock(commit, block, { repository, before, context, threads, passed }))];
    }
    const { role, meta } = commit.node;
    const messages = await checkReply(findRole(definition, role)?.check ?? [], { ...context, meta });
    return [...faults, ...messages.map((message) => `its reply does not pass a check of '${role}': ${message}`)];
  }
}

/**
 * The rules by which a commit is checked. Whether a rule exceeds its limits depends on the machine. So where a suspension says
 * that one did, it is not evaluated again, and only those before it are: it decides for the role that waits.
 */
function rulesFor(
  { node }: CommitOf<'step' | 'suspend' | 'end'>,
  definition: WorkflowDefinition,
  lastRole: string | undefined,
): readonly Rule[] {
  const { moderator } = definition;
  if (!('rule' in node) || node.rule === null || !isOfRule(node)) return moderator;
  const { rule: undecided } = node;
  const to = roleWhileUndecided(definition, undecided, lastRole);
  return moderator.map((rule, index) => {
    const { prompt: _, location: _where, ...bare } = rule;
    return index === undecided ? { ...bare, to, when: null } : rule;
  });
}

async function checkEnd(
  repository: Repository,
  again: Again,
  lastText: string = '',
  end: CommitOf<'end'>,
): Promise<string[]> {
  const { outcome, returnCode } = end.node;
  if (outcome === 'cancelled') return returnCode === 130 ? [] : [`a cancelled thread returns 130, not ${returnCode}`];
  const first = await again.decide();
  const decision = first.kind === 'role' ? ((await again.decideAtLimit()) ?? first) : first;
  if (decision.kind === 'role' || decision.kind === 'undecided')
    return [`it ended as ${outcome}; by the rules ${describe(decision)}`];
  const expected = decision.kind === 'end' ? decision.returnCode : 1;
  if (returnCode !== expected) return [`it ended with ${returnCode}; by the rules ${describe(decision)}`];
  // The message of a failure may change between versions.
  if (decision.kind === 'failed') return [];
  const summary = decision.summary ?? lastText;
  return (await readTextAt(repository, end, 'summary.md')) === summary ? [] : ['its summary is not what the rules say'];
}

/**
 * Analyses what a workflow's rules, blocks, templates and checks can see of a thread's steps. They always see the whole newest
 * step: rules match its role, and templates have its fields.
 */
export async function stepsSeenByRules({ roles, blocks = {}, moderator }: WorkflowDefinition): Promise<StepsSeen> {
  const tasks = Object.values(blocks).flatMap(tasksOf);
  const checks = Object.values(roles).flatMap(({ check = [] }) => check.map(({ expression }) => expression));
  const overs = Object.values(blocks).flatMap(({ each }) => (each ? [each.over] : []));
  const expressions = [...moderator.flatMap(({ when }) => when ?? []), ...overs, ...checks];
  const templates = [
    ...moderator.flatMap(({ prompt, location }) => [prompt, location]),
    ...tasks.map(([, { prompt }]) => prompt),
  ];
  let seen: StepsSeen = { ...NOTHING_SEEN, newest: 1 };
  for (const expression of expressions) seen = seenByBoth(seen, await seenByExpression(expression));
  for (const template of templates) if (template !== undefined) seen = seenByBoth(seen, seenByTemplate(template));
  return seen;
}

/** The decisions of the rules. Which limits were reached is not stored, so both decisions are possible. */
type Again = {
  /** @param isForced a person chose the role: rules that time out say no other one */
  decide: (isForced?: boolean) => Promise<Decision>;
  decideAtLimit: () => Promise<Decision | undefined>;
};

type Turn = CommitOf<'step' | 'suspend'>;
type Giving = Extract<Decision, { kind: 'role' }>;
type Place = { definition: WorkflowDefinition; start: CommitOf<'start'>; task: string; nodes: NodeSource };

/** Checks what a turn says of the rule that gave it, of its agent, and of what a person or a block was asked. */
async function checkTurn({ node }: Turn, again: Again, place: Place): Promise<string[]> {
  const { role } = node;
  const { definition, nodes } = place;
  if (findRole(definition, role) === undefined) return [`the workflow has no role '${role}'`];
  const giving = await findGiving(node, again);
  if (typeof giving === 'string') return [giving];
  const found = await nodes.find(node.agent);
  // A missing node has been reported.
  if (found === undefined) return [];
  const agent = payloadOf(found, 'agent');
  const isUndecided = isOfRule(node);
  const isBlock = findBlock(definition, role) !== undefined;
  const faults = isUndecided ? checkUnrun(node) : isBlock ? checkBlockTurn(node, agent) : [];
  if ('cause' in node) faults.push(...checkCause(agent.package, node));
  const asked = isUndecided
    ? place.task
    : isBlock
      ? (giving?.prompt ?? place.task)
      : isPerson(agent)
        ? questionOf({ ...place, start: place.start.node }, role, giving?.prompt)
        : undefined;
  if (asked !== undefined && !(await isAsked(node, asked, nodes))) {
    faults.push(`its prompt is not what the rules and the workflow ask of '${role}'`);
  }
  return faults;
}

/** Tells whether a suspension says that a rule was undecided. */
function isOfRule(node: Turn['node']): boolean {
  return 'cause' in node && node.cause === 'rule';
}

/** Finds what a turn has that was not run. */
function checkUnrun({ usage, attempts, react, ...rest }: Turn['node']): string[] {
  const isRun = usage !== null || attempts.length > 0 || react !== null || ('content' in rest && rest.content !== null);
  return isRun ? ['it has a text, usage, attempts or a trace; a rule was undecided, and nothing ran'] : [];
}

/** The decision that gave a turn; `undefined` if a person gave it, and a fault if it was neither. */
async function findGiving(node: Turn['node'], again: Again): Promise<Giving | string | undefined> {
  const { role, rule } = node;
  if (rule === null && isOfRule(node)) return 'it does not name the rule that was undecided';
  const decision = await again.decide(rule === null);
  const isHere = (said: Decision | undefined): said is Giving => said?.kind === 'role' && said.role === role;
  if (rule === null) {
    // What the rules say is no choice of a person.
    return isHere(decision)
      ? `it says that a person gave the turn to '${role}'; by the rules ${describe(decision)}`
      : undefined;
  }
  if (isHere(decision) && decision.rule === rule) return decision;
  const atLimit = decision.kind === 'role' ? await again.decideAtLimit() : undefined;
  if (isHere(atLimit) && atLimit.rule === rule) return atLimit;
  const what = isOfRule(node) ? `was undecided, and '${role}' waits` : `gave the turn to '${role}'`;
  return `it says that rule ${rule + 1} ${what}; by the rules ${describe(decision)}`;
}

/** Tells whether a turn has a prompt, except for secrets that were redacted in it, or in what it was made of. */
async function isAsked({ prompt }: Turn['node'], wanted: string, nodes: NodeSource): Promise<boolean> {
  if (hasMark(wanted)) return true;
  const found = await nodes.find(prompt);
  return found === undefined || isMarked(wanted, payloadOf(found, 'content').text);
}

/** Causes that the engine itself finds in a turn of any agent. */
const causesOfEngine: readonly SuspendCause[] = [
  'agent',
  'invalid-reply',
  'limit',
  'timeout',
  'secret',
  'isolation',
  'interrupted',
];
/** The causes of a built-in agent's turns. */
const causesOf: Readonly<Record<string, readonly SuspendCause[]>> = {
  'builtin:acp': [...causesOfEngine, 'permission'],
  'builtin:block': ['agent', 'child', 'invalid-reply', 'limit', 'secret', 'isolation'],
  'builtin:command': causesOfEngine,
  'builtin:human': [...causesOfEngine, 'human'],
  'builtin:llm': causesOfEngine,
  [RULES_PACKAGE]: ['rule'],
  'builtin:scripted': causesOfEngine,
  'builtin:workflow': [...causesOfEngine, 'child'],
};

/** The causes for which an agent itself stops, and with which it can say when the turn can be taken again. */
const causesOfAgents: readonly SuspendCause[] = ['agent', 'human', 'permission', 'child', 'limit'];

/** Checks that an agent can have stopped for a cause, and can have said when to go on. */
function checkCause(agent: string, { cause, due }: Pick<CommitOf<'suspend'>['node'], 'cause' | 'due'>): string[] {
  const causes = Object.hasOwn(causesOf, agent) ? causesOf[agent] : [...causesOfEngine, ...causesOfAgents];
  if (causes?.includes(cause) === false) return [`its cause is '${cause}', for which ${agent} does not stop`];
  if (due === undefined || causesOfAgents.includes(cause)) return [];
  return [`it says when to go on, which no turn does that stops for '${cause}'`];
}

function describe(decision: Decision): string {
  switch (decision.kind) {
    case 'role':
      return `it is the turn of '${decision.role}' (rule ${decision.rule + 1})`;
    case 'end':
      return `the thread ends with ${decision.returnCode} (rule ${decision.rule + 1})`;
    case 'undecided':
      return `the thread waits: ${decision.error.message}`;
    case 'failed':
      return `the thread fails: ${decision.error.message}`;
  }
}
