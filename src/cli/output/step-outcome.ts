import type { StepOutcome } from '../../engine/step-thread.ts';
import type { Output } from './output.ts';

/** The fields of a step's outcome under `--json`. */
export const stepOutcomeFields: Readonly<Record<string, string>> = {
  thread: 'the thread',
  status: 'how it stands after the step',
  role: 'who took the step; null if nothing ran',
  step: "the step's hash; null if nothing was stored",
  head: 'the commit that the thread is at',
  nextRole: 'who is next',
  reason: 'what it waits for, or how it ended',
  returnCode: 'of a thread that is over',
};

/** Prints what a step came to. */
export function printStep(out: Output, outcome: StepOutcome): Promise<void> {
  const { thread, status, role, step, head, nextRole, over } = outcome;
  const ran = step === null ? undefined : `${out.paint.id(step)}  ${out.paint.name(role ?? '')}`;
  const next = nextRole === null ? '' : out.paint.quiet(`  next: ${nextRole}`);
  return out.line(
    { thread, status, role, step, head, nextRole, reason: over?.text ?? null, returnCode: over?.returnCode ?? null },
    ran === undefined ? undefined : ran + next,
  );
}
