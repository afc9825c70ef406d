import type { NodeHash } from '../../cas/hash.ts';
import type { Repository } from '../../git/repository.ts';
import { decide, decideAtLimit, type Decision, type DecisionContext } from '../../moderator/decide.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import { stepView, type StepView } from '../../thread/step-view.ts';
import { type CommitOf, readState } from '../../thread/thread-state.ts';
import { readThread } from '../../thread/thread-chain.ts';
import { nodesBehind } from '../../cas/commit-nodes.ts';
import { loadWorkflow } from '../../workflow/nodes.ts';
import { END, type WorkflowDefinition } from '../../workflow/definition.ts';

/** Where a changed definition leaves the way that a thread has gone. */
export type Divergence = {
  /** How many steps both have in common; the step after them is the first that differs. */
  afterSteps: number;
  /** The last step that both have; null where they differ from the start on. */
  lastStep: NodeHash | null;
  /** The role that took the turn, or `__end__`. */
  was: string;
  /** The role that would have taken it, `__end__`, or null where the changed rules cannot go on. */
  would: string | null;
  /** The rule that would have decided, its place in the definition's list counted from 0; null where none holds. */
  rule: number | null;
  /** What makes the changed rules fail, or how the return codes differ; null otherwise. */
  reason: string | null;
};

/** What a changed definition would have made of a thread. */
export type Simulated = {
  thread: ThreadId;
  /** How many decisions were made again. */
  decisions: number;
  /** The first decision that comes out otherwise; null if none does. */
  divergence: Divergence | null;
};

/**
 * Decides every turn of a finished thread again by a changed definition, up to the first that it gives to another role.
 *
 * The stored replies are used, so no agent is asked. A turn that a person gave to a role is taken as given. A branch of a block
 * that runs a role alone has the name of its caller's workflow and rules that uwf has made: none of them is tried.
 * @throws {CorruptThread} if the thread cannot be read
 */
export async function simulateThread(
  repository: Repository,
  pointer: Pick<ThreadPointer, 'id' | 'head'>,
  definition: WorkflowDefinition,
): Promise<Simulated> {
  let decisions = 0;
  for await (const { before, commit } of replay(repository, pointer)) {
    if (!isDecided(commit)) continue;
    if (decisions === 0 && (await runsRoleAlone(repository, pointer))) break;
    decisions += 1;
    const seen = { ...before, start: { ...before.start, workflow: definition.name } };
    const decision = await decide(definition.moderator, seen);
    const divergence = compare(before, commit, decision);
    // Limits are no part of a definition alone: where one may have been reached, its rule may have decided.
    const atLimit =
      divergence && decision.kind === 'role' ? await decideAtLimit(definition.moderator, seen) : undefined;
    if (atLimit && compare(before, commit, atLimit) === undefined) continue;
    if (divergence) return { thread: pointer.id, decisions, divergence };
  }
  return { thread: pointer.id, decisions, divergence: null };
}

async function runsRoleAlone(
  repository: Repository,
  { id, head }: Pick<ThreadPointer, 'id' | 'head'>,
): Promise<boolean> {
  const { start } = await readState(repository, id, head);
  if (start.node.call?.block === undefined) return false;
  const { roles, moderator } = await loadWorkflow(nodesBehind(repository, [start.id]), start.node.workflow);
  return Object.keys(roles).length === 1 && moderator.length === 2 && moderator.every(({ when }) => when === null);
}

/** A thread before one of its commits. */
type Before = DecisionContext & { steps: readonly StepView[]; lastStep: NodeHash | null };

/** The commits of a thread after its start, each with the thread as it stood before. */
async function* replay(
  repository: Repository,
  { id, head }: Pick<ThreadPointer, 'id' | 'head'>,
): AsyncGenerator<{ before: Before; commit: ThreadCommit }, void, void> {
  const { start, prompt, chain, steps: entries } = await readThread(repository, id, head);
  const { depth, startedAtMs } = start.node;
  const texts = new Map(entries.map(({ commit, text }) => [commit, text]));
  const common = { threadId: start.node.id, start: { prompt, workflow: '', depth, startedAtMs } };
  let steps: readonly StepView[] = [];
  let lastStep: NodeHash | null = null;
  let isResumed = false;
  for (const [place, commit] of chain.entries()) {
    if (place > 0) yield { before: { ...common, steps, lastStep, isResumed }, commit };
    if (commit.kind === 'step') {
      steps = [...steps, await stepView(repository, { start }, { commit, text: texts.get(commit) ?? '' })];
      lastStep = commit.hash;
      isResumed = false;
    }
    // A resumption that follows no suspension takes up a thread that had ended.
    if (commit.kind === 'resume' && chain[place - 1]?.kind !== 'suspend') isResumed = true;
  }
}

/** Tells whether rules decided what a commit says: a person may have given a turn away, or cancelled the thread. */
function isDecided(commit: ThreadCommit): commit is CommitOf<'step' | 'suspend' | 'end'> {
  if (commit.kind === 'suspend' && commit.node.cause === 'rule') return false;
  if (commit.kind === 'step' || commit.kind === 'suspend') return commit.node.rule !== null;
  return commit.kind === 'end' && commit.node.outcome !== 'cancelled';
}

function compare(
  { steps, lastStep }: Before,
  commit: CommitOf<'step' | 'suspend' | 'end'>,
  decision: Decision,
): Divergence | undefined {
  const was = commit.kind === 'end' ? END : commit.node.role;
  const wasCode = commit.kind === 'end' ? commit.node.returnCode : null;
  const would = decision.kind === 'role' ? decision.role : decision.kind === 'end' ? END : null;
  const wouldCode = decision.kind === 'end' ? decision.returnCode : null;
  if (was === would && wasCode === wouldCode) return undefined;
  // A thread that failed because its rules could not go on fails by the changed rules too.
  if (commit.kind === 'end' && commit.node.outcome === 'failed' && decision.kind === 'failed') return undefined;
  return {
    afterSteps: steps.length,
    lastStep,
    was,
    would,
    rule: decision.rule ?? null,
    reason:
      'error' in decision
        ? decision.error.message
        : was === would
          ? `it returned ${wasCode} and would return ${wouldCode}`
          : null,
  };
}
