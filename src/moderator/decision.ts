import type { UwfError } from '../errors.ts';
import type { StepView } from '../thread/read/step-view.ts';

/** The thread's beginning as rules and templates see it. */
export type StartView = { prompt: string; workflow: string; depth: number; startedAtMs: number };

/** All that a decision depends on. The same context gives the same decision, on every machine. */
export type DecisionContext = {
  /** The id the thread was born with, so that forks decide alike. */
  threadId: string;
  start: StartView;
  steps: readonly StepView[];
  /** True when an ended thread is resumed: rules from `__resume__` decide, whatever the last role was. */
  isResumed?: boolean;
};

/** What the moderator says. `rule` is the 0-based index in the stored list. */
export type Decision =
  | { kind: 'role'; rule: number; role: string; prompt: string | undefined; location: string | undefined }
  | { kind: 'end'; rule: number; returnCode: number; summary: string | undefined }
  /** The definition cannot go on: a rule's error or time box, or (`rule: undefined`) none that matches. */
  | { kind: 'failed'; rule: number | undefined; error: UwfError };
