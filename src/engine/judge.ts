import { createHash } from 'node:crypto';
import type { NodeHash } from '../cas/hash.ts';
import type { NodeSource } from '../cas/node-source.ts';
import { ALL_SEEN, type StepsSeen } from '../expression/steps-seen.ts';
import type { Repository } from '../git/repository.ts';
import { checkReply } from '../moderator/check-reply.ts';
import { decide, decideAtLimit } from '../moderator/decide.ts';
import type { Decision, DecisionContext } from '../moderator/decision.ts';
import type { CommitOf } from '../thread/thread-state.ts';
import { readTextAt, type ThreadCommit } from '../thread/thread-commit.ts';
import type { Judge, Trial } from '../thread/verify/check-commit.ts';
import type { Progress } from '../thread/verify/progress.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { lengthOfExpressions, MAX_EXPRESSIONS } from '../workflow/expressions-of.ts';
import { loadWorkflow } from '../workflow/load-workflow.ts';
import { stepView } from './decision-context.ts';
import { timeoutOf, type Patience } from './patience.ts';
import { StepHistory } from './step-history.ts';
import { stepsSeenByRules } from './steps-seen-by-rules.ts';

/** How a judge treats the workflows that it meets. */
export type JudgeOptions = {
  /** What keeps a workflow that takes for ever from taking it again; absent where a person asked for this one thread. */
  patience?: Patience;
};

/** Definitions are small, but whoever made them decides how many there are. */
const MAX_DEFINITIONS = 50;
/** What may be held of the steps of a thread that comes from elsewhere. */
const MAX_HISTORY_BYTES = 16 * 1024 * 1024;

/**
 * Makes the decisions of stored threads again, from the workflow that is stored with each, and says where a commit tells
 * of another one. No agent is asked.
 */
export function createJudge(repository: Repository, { patience }: JudgeOptions = {}): Judge {
  const known = new Map<string, Rules>();
  const rulesOf = async (start: CommitOf<'start'>, nodes: NodeSource): Promise<Rules> => {
    const key = workflowKey(start);
    const rules = known.get(key) ?? (await loadRules(start.node.workflow, nodes));
    if (known.size >= MAX_DEFINITIONS) known.clear();
    known.set(key, rules);
    return rules;
  };
  return (start, prompt) => new ThreadTrial(repository, patience, rulesOf, start, prompt);
}

/** A workflow, and what its rules can see of a thread. */
type Rules = { definition: WorkflowDefinition; seen: StepsSeen };

/** What tells a thread's workflow from all others: its blobs, too, as another thread may have other nodes of these hashes. */
function workflowKey({ node, index }: CommitOf<'start'>): string {
  const digest = createHash('sha256').update(node.workflow);
  for (const { hash, oid, path } of index) if (path.startsWith('workflow/')) digest.update(`${hash} ${oid}\n`);
  return digest.digest('base64');
}

async function loadRules(hash: NodeHash, nodes: NodeSource): Promise<Rules> {
  const definition = await loadWorkflow(nodes, hash);
  // Looking through longer ones takes long, and of a thread from elsewhere they are not evaluated.
  const isTooLong = lengthOfExpressions(definition) > MAX_EXPRESSIONS;
  return { definition, seen: isTooLong ? ALL_SEEN : await stepsSeenByRules(definition) };
}

class ThreadTrial implements Trial {
  readonly #repository: Repository;
  readonly #patience: Patience | undefined;
  readonly #rulesOf: (start: CommitOf<'start'>, nodes: NodeSource) => Promise<Rules>;
  readonly #start: CommitOf<'start'>;
  readonly #prompt: string;
  #rules: Rules | undefined;
  #history: StepHistory | undefined;

  constructor(
    repository: Repository,
    patience: Patience | undefined,
    rulesOf: (start: CommitOf<'start'>, nodes: NodeSource) => Promise<Rules>,
    start: CommitOf<'start'>,
    prompt: string,
  ) {
    this.#repository = repository;
    this.#patience = patience;
    this.#rulesOf = rulesOf;
    this.#start = start;
    this.#prompt = prompt;
  }

  async reach(nodes: NodeSource): Promise<number> {
    const { seen } = await this.#rulesBy(nodes);
    return seen.members === undefined ? Math.max(1, seen.newest) : Infinity;
  }

  async add(commit: CommitOf<'step'>, text: string, nodes: NodeSource): Promise<void> {
    const { seen } = await this.#rulesBy(nodes);
    // A person who asks about a thread of their own gets an answer, whatever it takes.
    this.#history ??= new StepHistory(seen, this.#patience === undefined ? Infinity : MAX_HISTORY_BYTES);
    this.#history.add(await stepView(this.#repository, { start: this.#start }, { commit, text }));
  }

  async judge(before: Progress, commit: ThreadCommit, nodes: NodeSource): Promise<string[]> {
    if (commit.kind === 'start' || commit.kind === 'resume') return [];
    const hash = this.#start.node.workflow;
    const { definition } = await this.#rulesBy(nodes);
    if (this.#patience === undefined) return this.#judge(before, commit, definition);
    return this.#patience.spend(hash, definition, () => this.#judge(before, commit, definition));
  }

  async #rulesBy(nodes: NodeSource): Promise<Rules> {
    return (this.#rules ??= await this.#rulesOf(this.#start, nodes));
  }

  async #judge(
    before: Progress,
    commit: CommitOf<'step' | 'suspend' | 'end'>,
    definition: WorkflowDefinition,
  ): Promise<string[]> {
    const { id, depth, startedAtMs } = this.#start.node;
    const context: DecisionContext = {
      threadId: id,
      start: { prompt: this.#prompt, workflow: definition.name, depth, startedAtMs },
      steps: this.#history?.list() ?? [],
      isResumed: before.isReopened,
    };
    const unlessTimedOut = <D extends Decision | undefined>(decision: D): D => {
      // How far a rule gets in its box is not the same on every machine.
      if (this.#patience !== undefined && decision?.kind === 'failed' && timeoutOf(decision.error))
        throw decision.error;
      return decision;
    };
    const again: Again = {
      decide: async () => unlessTimedOut(await decide(definition.moderator, context)),
      decideAtLimit: async () => unlessTimedOut(await decideAtLimit(definition.moderator, context)),
    };
    if (commit.kind === 'end') return judgeEnd(this.#repository, again, context, commit);
    const faults = await judgeTurn(definition, again, commit);
    return commit.kind === 'step' ? [...faults, ...(await judgeReply(definition, context, commit))] : faults;
  }
}

/** The decisions that the rules come to; which limits were reached is not known here. */
type Again = { decide: () => Promise<Decision>; decideAtLimit: () => Promise<Decision | undefined> };

async function judgeTurn(
  definition: WorkflowDefinition,
  again: Again,
  { node: { role, rule } }: CommitOf<'step' | 'suspend'>,
): Promise<string[]> {
  if (!Object.hasOwn(definition.roles, role)) return [`the workflow has no role '${role}'`];
  // A person gave the turn to this role, whatever the rules said.
  if (rule === null) return [];
  const decision = await again.decide();
  const isSaid = (said: Decision | undefined): boolean =>
    said?.kind === 'role' && said.role === role && said.rule === rule;
  if (isSaid(decision) || (decision.kind === 'role' && isSaid(await again.decideAtLimit()))) return [];
  return [`it says that rule ${rule + 1} gave the turn to '${role}'; by the rules ${describe(decision)}`];
}

async function judgeReply(
  definition: WorkflowDefinition,
  context: DecisionContext,
  { node: { role, meta } }: CommitOf<'step'>,
): Promise<string[]> {
  const messages = await checkReply(definition.roles[role]?.check ?? [], { ...context, meta });
  return messages.map((message) => `its reply does not pass a check of '${role}': ${message}`);
}

async function judgeEnd(
  repository: Repository,
  again: Again,
  { steps }: DecisionContext,
  end: CommitOf<'end'>,
): Promise<string[]> {
  const { outcome, returnCode } = end.node;
  if (outcome === 'cancelled') return returnCode === 130 ? [] : [`a cancelled thread returns 130, not ${returnCode}`];
  const first = await again.decide();
  const decision = first.kind === 'role' ? ((await again.decideAtLimit()) ?? first) : first;
  if (decision.kind === 'role') return [`it ended as ${outcome}; by the rules ${describe(decision)}`];
  const expected = decision.kind === 'end' ? decision.returnCode : 1;
  if (returnCode !== expected) return [`it ended with ${returnCode}; by the rules ${describe(decision)}`];
  // Why rules failed is said in words that may change.
  if (decision.kind === 'failed') return [];
  const summary = decision.summary ?? steps.at(-1)?.text ?? '';
  return (await readTextAt(repository, end, 'summary.md')) === summary ? [] : ['its summary is not what the rules say'];
}

function describe(decision: Decision): string {
  switch (decision.kind) {
    case 'role':
      return `it is the turn of '${decision.role}' (rule ${decision.rule + 1})`;
    case 'end':
      return `the thread ends with ${decision.returnCode} (rule ${decision.rule + 1})`;
    case 'failed':
      return `the thread fails: ${decision.error.message}`;
  }
}
