import type { NodeHash } from '../cas/hash.ts';
import type { NodeSource } from '../cas/node-source.ts';
import type { Repository } from '../git/repository.ts';
import { checkReply } from '../moderator/check-reply.ts';
import { decide } from '../moderator/decide.ts';
import type { Decision, DecisionContext } from '../moderator/decision.ts';
import type { CommitOf, ThreadState } from '../thread/thread-state.ts';
import { readTextAt } from '../thread/thread-commit.ts';
import type { Judge } from '../thread/verify/check-commit.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { loadWorkflow } from '../workflow/load-workflow.ts';
import { decisionContext } from './decision-context.ts';
import { timeoutOf, type Patience } from './patience.ts';

/** How a judge treats the workflows that it meets. */
export type JudgeOptions = {
  /** What keeps a workflow that takes for ever from taking it again; absent where a person asked for this one thread. */
  patience?: Patience;
};

/** Definitions are small, but whoever made them decides how many there are. */
const MAX_DEFINITIONS = 50;

/**
 * Makes the decisions of stored threads again, from the workflow that is stored with each, and says where a commit tells
 * of another one. No agent is asked.
 */
export function createJudge(repository: Repository, { patience }: JudgeOptions = {}): Judge {
  const definitions = new Map<NodeHash, WorkflowDefinition>();
  const definitionOf = async (hash: NodeHash, nodes: NodeSource): Promise<WorkflowDefinition> => {
    const definition = definitions.get(hash) ?? (await loadWorkflow(nodes, hash));
    if (definitions.size >= MAX_DEFINITIONS) definitions.clear();
    definitions.set(hash, definition);
    return definition;
  };
  const judge = async (
    before: ThreadState,
    commit: CommitOf<'step' | 'suspend' | 'end'>,
    definition: WorkflowDefinition,
  ): Promise<string[]> => {
    const context = await decisionContext(repository, before, definition.name);
    const decideAgain = async (): Promise<Decision> => {
      const decision = await decide(definition.moderator, context);
      // How far a rule gets in its box is not the same on every machine.
      if (patience !== undefined && decision.kind === 'failed' && timeoutOf(decision.error)) throw decision.error;
      return decision;
    };
    if (commit.kind === 'end') return judgeEnd(repository, decideAgain, before, commit);
    const faults = await judgeTurn(definition, decideAgain, commit);
    return commit.kind === 'step' ? [...faults, ...(await judgeReply(definition, context, commit))] : faults;
  };
  return async (before, commit, nodes) => {
    if (commit.kind === 'start' || commit.kind === 'resume') return [];
    const hash = before.start.node.workflow;
    const definition = await definitionOf(hash, nodes);
    if (patience === undefined) return judge(before, commit, definition);
    return patience.spend(hash, definition, () => judge(before, commit, definition));
  };
}

async function judgeTurn(
  definition: WorkflowDefinition,
  decideAgain: () => Promise<Decision>,
  { node: { role, rule } }: CommitOf<'step' | 'suspend'>,
): Promise<string[]> {
  if (!Object.hasOwn(definition.roles, role)) return [`the workflow has no role '${role}'`];
  // A person gave the turn to this role, whatever the rules said.
  if (rule === null) return [];
  const decision = await decideAgain();
  if (decision.kind === 'role' && decision.role === role && decision.rule === rule) return [];
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
  decideAgain: () => Promise<Decision>,
  before: ThreadState,
  end: CommitOf<'end'>,
): Promise<string[]> {
  const { outcome, returnCode } = end.node;
  if (outcome === 'cancelled') return returnCode === 130 ? [] : [`a cancelled thread returns 130, not ${returnCode}`];
  const decision = await decideAgain();
  if (decision.kind === 'role') return [`it ended as ${outcome}; by the rules ${describe(decision)}`];
  const expected = decision.kind === 'end' ? decision.returnCode : 1;
  if (returnCode !== expected) return [`it ended with ${returnCode}; by the rules ${describe(decision)}`];
  // Why rules failed is said in words that may change.
  if (decision.kind === 'failed') return [];
  const summary = decision.summary ?? before.steps.at(-1)?.text ?? '';
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
