import type { NodeHash } from '../cas/hash.ts';
import type { NodeSource } from '../cas/node-source.ts';
import type { Repository } from '../git/repository.ts';
import { checkReply } from '../moderator/check-reply.ts';
import { decide } from '../moderator/decide.ts';
import type { Decision, DecisionContext } from '../moderator/decision.ts';
import type { CommitOf, ThreadState } from '../thread/thread-state.ts';
import { readTextAt } from '../thread/thread-commit.ts';
import type { Judge } from '../thread/verify/verification.ts';
import type { WorkflowDefinition } from '../workflow/definition.ts';
import { loadWorkflow } from '../workflow/load-workflow.ts';
import { decisionContext } from './decision-context.ts';

/**
 * Makes the decisions of stored threads again, from the workflow that is stored with each, and says where a commit tells
 * of another one. No agent is asked.
 */
export function createJudge(repository: Repository): Judge {
  const definitions = new Map<NodeHash, WorkflowDefinition>();
  const definitionOf = async (hash: NodeHash, nodes: NodeSource): Promise<WorkflowDefinition> => {
    const definition = definitions.get(hash) ?? (await loadWorkflow(nodes, hash));
    definitions.set(hash, definition);
    return definition;
  };
  return async (before, commit, nodes) => {
    if (commit.kind === 'start' || commit.kind === 'resume') return [];
    const definition = await definitionOf(before.start.node.workflow, nodes);
    const context = await decisionContext(repository, before, definition.name);
    if (commit.kind === 'end') return judgeEnd(repository, definition, context, before, commit);
    const faults = await judgeTurn(definition, context, commit);
    return commit.kind === 'step' ? [...faults, ...(await judgeReply(definition, context, commit))] : faults;
  };
}

async function judgeTurn(
  definition: WorkflowDefinition,
  context: DecisionContext,
  { node: { role, rule } }: CommitOf<'step' | 'suspend'>,
): Promise<string[]> {
  if (!Object.hasOwn(definition.roles, role)) return [`the workflow has no role '${role}'`];
  // A person gave the turn to this role, whatever the rules said.
  if (rule === null) return [];
  const decision = await decide(definition.moderator, context);
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
  definition: WorkflowDefinition,
  context: DecisionContext,
  before: ThreadState,
  end: CommitOf<'end'>,
): Promise<string[]> {
  const { outcome, returnCode } = end.node;
  if (outcome === 'cancelled') return returnCode === 130 ? [] : [`a cancelled thread returns 130, not ${returnCode}`];
  const decision = await decide(definition.moderator, context);
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
