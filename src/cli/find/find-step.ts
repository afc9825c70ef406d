import { getCommitOfStep, startCommitOf } from '../../engine/describe/find-turn.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadPointer } from '../../thread/thread-id.ts';
import type { TextOption } from '../command-line/command.ts';

/** The option that says whose step is meant. */
export const ofThreadOption: TextOption = {
  short: 't',
  value: '<thread>',
  summary: 'the thread that the step belongs to; by default $UWF_THREAD',
  candidates: 'thread',
};

/** The option that says which step of a thread is meant. */
export const atOption: TextOption = {
  value: '<step>',
  summary: 'the step: its number, or the first characters of its hash; 0 is the start',
  candidates: 'step',
};

/**
 * The commit of the step that `--at` names; 0 is the thread's start.
 * @throws {TurnNotFound} if the thread has no such step, or several
 */
export async function findPlace(repository: Repository, thread: ThreadPointer, at: string): Promise<ObjectId> {
  return /^0+$/.test(at) ? (await startCommitOf(repository, thread)).id : getCommitOfStep(repository, thread, at);
}
