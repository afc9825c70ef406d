import type { ObjectId } from '../git/object-id.ts';
import type { ThreadState } from '../thread/thread-state.ts';
import type { TextOption } from './command.ts';
import { findStepIn } from './find-step.ts';

/** The option that says which step of a thread is meant. */
export const atOption: TextOption = {
  value: '<step>',
  summary: 'the step: its number, or the first characters of its hash; 0 is the start',
};

/**
 * The commit of the step that `--at` names; 0 is the thread's start.
 * @throws {UsageError} if the thread has no such step, or several
 */
export function findPlaceIn(state: ThreadState, at: string): ObjectId {
  return /^0+$/.test(at) ? state.start.id : findStepIn(state, at).commit.id;
}
