import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { statusOf } from '../thread-commit.ts';
import { agentName } from './agent-name.ts';
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
export async function stepView(
  repository: Repository,
  { start }: Pick<ThreadState, 'start'>,
  step: StepEntry,
): Promise<StepView> {
  return viewOf(step.commit, step.text, await agentName(repository, start, step.commit));
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
