import { findStepPlaces, type StepPlaces } from '../../engine/describe/step-places.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadPointer } from '../../thread/find/find-thread.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { CommitOf } from '../../thread/read/thread-state.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { TextOption } from '../command-line/command.ts';
import { UsageError } from '../errors/usage-error.ts';

/** The option that says whose step is meant. */
export const ofThreadOption: TextOption = {
  short: 't',
  value: '<thread>',
  summary: 'the thread that the step belongs to; by default $UWF_THREAD',
  candidates: 'thread',
};

/** Reads the start of a thread. The chain is not walked if this machine has cached where the start is. */
export async function startCommitOf(
  repository: Repository,
  pointer: ThreadPointer,
  known?: StepPlaces,
): Promise<CommitOf<'start'>> {
  const places = known ?? (await findStepPlaces(repository, pointer));
  const start = await readThreadCommit(repository, placeOf(pointer, places, 0));
  if (start.kind !== 'start') throw new CorruptThread(start.id, 'it is no start');
  return start;
}

/**
 * The number of the step of a thread that a text means: its number, or the first characters of its hash.
 *
 * @throws {UsageError} if the thread has no such step, or several
 */
export function numberIn(thread: ThreadId, places: StepPlaces, text: string): number {
  const wanted = text.toUpperCase();
  const byNumber = Number(text) >= 1 && Number(text) <= places.count ? [Number(text)] : [];
  const numbers = isStepNumber(text) ? byNumber : wanted === '' ? [] : places.findByPrefix(wanted);
  const [first, second] = numbers;
  if (second !== undefined) {
    throw new UsageError(`'${text}' could be any of ${numbers.length} steps`, 'give more characters');
  }
  if (first !== undefined) return first;
  const hint = `it has ${places.count}; 'uwf step list ${thread}' lists them`;
  throw new UsageError(`thread ${thread} has no step '${text}'`, places.count === 0 ? 'it has no steps yet' : hint);
}

/** Tells whether a text is a step's number. So few digits are too short for a hash. */
export function isStepNumber(text: string): boolean {
  return /^\d{1,6}$/.test(text);
}

/** The commit of a step; of the start for 0. */
export function placeOf(thread: ThreadPointer, places: StepPlaces, number: number): ObjectId {
  const commit = places.commitOf(number);
  if (commit === undefined) throw new CorruptThread(thread.head, `its chain has no step ${number}`);
  return commit;
}

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
