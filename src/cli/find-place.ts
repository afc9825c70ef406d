import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { findStepPlaces } from '../engine/step-places.ts';
import type { ThreadPointer } from '../thread/find-thread.ts';
import type { TextOption } from './command.ts';
import { numberIn, placeOf } from './find-step.ts';

/** The option that says which step of a thread is meant. */
export const atOption: TextOption = {
  value: '<step>',
  summary: 'the step: its number, or the first characters of its hash; 0 is the start',
  candidates: 'step',
};

/**
 * The commit of the step that `--at` names; 0 is the thread's start.
 * @throws {UsageError} if the thread has no such step, or several
 */
export async function findPlace(repository: Repository, thread: ThreadPointer, at: string): Promise<ObjectId> {
  const places = await findStepPlaces(repository, thread);
  return placeOf(thread, places, /^0+$/.test(at) ? 0 : numberIn(thread.id, places, at));
}
