import type { UwfError } from '../errors.ts';
import type { StepsSeen } from '../expression/analysis/steps-seen.ts';
import type { RoleSeen } from '../expression/evaluation/scope.ts';
import type { StepView } from '../thread/step-view.ts';
import { END, type WorkflowDefinition } from '../workflow/definition.ts';

/** The thread's beginning as rules and templates see it. */
export type StartView = { prompt: string; workflow: string; depth: number; startedAtMs: number };

/** Steps as an expression sees them. */
export type SeenSteps = {
  /** Oldest first. */
  steps: readonly StepView[];
  /** Set where `steps` are not all steps. */
  roles?: ReadonlyMap<string, RoleSeen>;
};

/** The steps of a thread, of which each rule reads only what it can see. */
export type PastSteps = {
  /** The role of the newest step; absent before the first. */
  lastRole: string | undefined;
  /** Reads steps: an expression that sees no more than this comes to the same result as over all of them. */
  seenBy: (seen: StepsSeen) => Promise<SeenSteps>;
};

/** All that a decision depends on. The same context gives the same decision, on every machine. */
export type DecisionContext = {
  /** The id in the thread's start. Forks have the same one, so they decide alike. */
  threadId: string;
  start: StartView;
  /** Oldest first. */
  steps: readonly StepView[] | PastSteps;
  /** True when an ended thread is resumed: rules from `__resume__` decide, whatever the last role was. */
  isResumed?: boolean;
};

/** The moderator's decision. `rule` is the 0-based index in the stored list. */
export type Decision =
  | { kind: 'role'; rule: number; role: string; prompt: string | undefined; location: string | undefined }
  | { kind: 'end'; rule: number; returnCode: number; summary: string | undefined }
  /** The definition cannot go on: a rule's error, or (`rule: undefined`) none that matches. */
  | { kind: 'failed'; rule: number | undefined; error: UwfError }
  /** A rule was ended at a limit of time or memory. On another machine, or later, there may be a decision. */
  | { kind: 'undecided'; rule: number; error: UwfError };

/** The role of the newest step; `undefined` before the first. */
export function lastRoleOf(steps: DecisionContext['steps']): string | undefined {
  return 'seenBy' in steps ? steps.lastRole : steps.at(-1)?.role;
}

/**
 * The role that waits while a rule is undecided: the one that the rule leads to; where that is the end, the role of the newest
 * step, and without a step the first of all by name.
 */
export function roleWhileUndecided(
  { roles, blocks, moderator }: WorkflowDefinition,
  rule: number,
  lastRole: string | undefined,
): string {
  const to = moderator[rule]?.to;
  if (to !== undefined && to !== END) return to;
  return lastRole ?? Object.keys({ ...roles, ...blocks }).toSorted()[0] ?? '';
}

/** The steps, or at least what an expression can see of them. */
export async function stepsSeenBy(steps: DecisionContext['steps'], seen: StepsSeen): Promise<SeenSteps> {
  return 'seenBy' in steps ? steps.seenBy(seen) : { steps };
}
