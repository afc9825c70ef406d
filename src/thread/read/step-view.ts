import { pathName } from '../../cas/path-name.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { findNodeAt, statusOf, type ThreadCommit } from '../thread-commit.ts';
import type { CommitOf, StepEntry, ThreadState } from './thread-state.ts';

/** A step as rules and templates see it; oldest first in `$steps`. */
export type StepView = {
  role: string;
  meta: JsonObject;
  /** The same as `meta`. */
  output: JsonObject;
  text: string;
  hash: string;
  /** `meta.$status`, or null. */
  status: string | null;
  agent: string;
  usage: Usage | null;
  startedAtMs: number;
  completedAtMs: number;
};

/** A step of which nothing is known. */
export const BLANK_STEP: StepView = {
  role: '',
  meta: {},
  output: {},
  text: '',
  hash: '',
  status: null,
  agent: '',
  usage: null,
  startedAtMs: 0,
  completedAtMs: 0,
};

/**
 * Stand-ins for all steps but the newest, for expressions that only count them: a role has as many as it took steps,
 * whatever their order in the thread.
 */
export function standIns(
  roles: ReadonlyMap<string, { visits: number }>,
  newest: readonly Pick<StepView, 'role'>[],
): StepView[] {
  const found: StepView[] = [];
  for (const [role, { visits }] of roles) {
    const blank = { ...BLANK_STEP, role };
    const count = visits - newest.filter((step) => step.role === role).length;
    for (let place = 0; place < count; place += 1) found.push(blank);
  }
  return found;
}

/** A step as rules see it. */
export async function stepView(repository: Repository, state: Started, step: StepEntry): Promise<StepView> {
  return viewOf(step.commit, step.text, await agentName(repository, state, step));
}

/** A step whose text and agent are known, as rules see it. */
export function viewOf({ node, hash }: Pick<CommitOf<'step'>, 'node' | 'hash'>, text: string, agent: string): StepView {
  return {
    role: node.role,
    meta: node.meta,
    output: node.meta,
    text,
    hash,
    status: statusOf(node.meta),
    agent,
    usage: node.usage,
    startedAtMs: node.startedAtMs,
    completedAtMs: node.completedAtMs,
  };
}

/** The name in the configuration of the agent that took a turn. */
export async function agentName(repository: Repository, state: Started, turn: Turn): Promise<string> {
  return (await nameAt(repository, turn.commit, 'agent.json')) ?? (await nameAtStart(repository, state, turn)) ?? '';
}

type Turn = { commit: CommitOf<'step' | 'suspend'> };
type Started = Pick<ThreadState, 'start'>;

// Of most steps the agent is the start's, and a thread has one start and many steps.
const namesAtStart = new WeakMap<ThreadState['start'], Map<string, Promise<string | undefined>>>();

function nameAtStart(repository: Repository, { start }: Started, { commit }: Turn): Promise<string | undefined> {
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
