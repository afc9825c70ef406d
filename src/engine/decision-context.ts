import type { DecisionContext, StepView } from '../moderator/decision.ts';
import { statusOf } from '../thread/meta-status.ts';
import { findNodeAt, type ThreadCommit } from '../thread/thread-commit.ts';
import type { CommitOf, StepEntry, ThreadState } from '../thread/thread-state.ts';
import type { Repository } from '../git/repository.ts';
import { pathName } from '../cas/path-name.ts';
import { payloadOf } from '../schema/payload-of.ts';

/**
 * What the moderator decides from, read off a thread. Meta is what the stored blob says.
 */
export async function decisionContext(
  repository: Repository,
  state: ThreadState,
  workflow: string,
): Promise<DecisionContext> {
  const steps: StepView[] = [];
  // Waiting for each of thousands, once for each decision, would take longer than deciding.
  for (const step of state.steps) steps.push(views.get(step) ?? (await viewOf(repository, state, step)));
  return {
    threadId: state.start.node.id,
    start: {
      prompt: state.prompt,
      workflow,
      depth: state.start.node.depth,
      startedAtMs: state.start.node.startedAtMs,
    },
    steps,
    isResumed: isReopened(state),
  };
}

/** Tells whether the thread was taken up again after its end and no role has finished a step since. */
export function isReopened(state: ThreadState): boolean {
  return state.pauses[0]?.kind === 'resume';
}

// Entries never change, and a run decides after every step: what was looked up for one need not be looked up again.
const views = new WeakMap<StepEntry, StepView>();

async function viewOf(repository: Repository, state: ThreadState, step: StepEntry): Promise<StepView> {
  const view = await stepView(repository, state, step);
  views.set(step, view);
  return view;
}

/** A step as rules see it. */
export async function stepView(
  repository: Repository,
  state: Pick<ThreadState, 'start'>,
  step: StepEntry,
): Promise<StepView> {
  const { node, hash } = step.commit;
  return {
    role: node.role,
    meta: node.meta,
    output: node.meta,
    text: step.text,
    hash,
    status: statusOf(node.meta),
    agent: await agentName(repository, state, step),
    usage: node.usage,
    startedAtMs: node.startedAtMs,
    completedAtMs: node.completedAtMs,
  };
}

/** The name in the configuration of the agent that took a turn. */
export async function agentName(
  repository: Repository,
  state: Pick<ThreadState, 'start'>,
  turn: Turn,
): Promise<string> {
  return (await nameAt(repository, turn.commit, 'agent.json')) ?? (await nameAtStart(repository, state, turn)) ?? '';
}

type Turn = { commit: CommitOf<'step' | 'suspend'> };

// Of most steps the agent is the start's, and a thread has one start and many steps.
const namesAtStart = new WeakMap<ThreadState['start'], Map<string, Promise<string | undefined>>>();

function nameAtStart(
  repository: Repository,
  { start }: Pick<ThreadState, 'start'>,
  { commit }: Turn,
): Promise<string | undefined> {
  const names = namesAtStart.get(start) ?? new Map<string, Promise<string | undefined>>();
  namesAtStart.set(start, names);
  const { role } = commit.node;
  const name = names.get(role) ?? nameAt(repository, start, `agents/${pathName(role)}.json`);
  names.set(role, name);
  return name;
}

async function nameAt(repository: Repository, commit: ThreadCommit, path: string): Promise<string | undefined> {
  const node = await findNodeAt(repository, commit, path);
  return node && payloadOf(node, 'agent').name;
}
