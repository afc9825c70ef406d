import type { StepOutcome } from '../../engine/step-thread.ts';
import type { Output } from './output.ts';

/** The fields of a step's outcome under `--json`. */
export const stepOutcomeFields: Readonly<Record<string, string>> = {
  thread: 'the thread',
  status: 'how it stands after the step',
  role: 'who took the step, or whose turn waits; null if nothing ran and nothing waits',
  step: "the step's hash; null if nothing was stored",
  head: 'the commit that the thread is at',
  nextRole: 'who is next',
  reason: 'what it waits for, or how it ended',
  cause: 'only of a thread that waits: what stopped the turn',
  suspension: "only of a thread that waits: the suspension's hash",
  returnCode: 'of a thread that is over',
};

/** Prints what a step came to. */
export function printStep(out: Output, outcome: StepOutcome): Promise<void> {
  const { thread, status, step, head, nextRole, over } = outcome;
  const role = outcome.role ?? over?.role ?? null;
  const ran = step === null ? undefined : `${out.paint.id(step)}  ${out.paint.name(role ?? '')}`;
  const next = nextRole === null ? '' : out.paint.quiet(`  next: ${nextRole}`);
  const { text: reason = null, returnCode = null, cause, suspension } = over ?? {};
  return out.line(
    { thread, status, role, step, head, nextRole, reason, returnCode, cause, suspension },
    ran === undefined ? undefined : ran + next,
  );
}
