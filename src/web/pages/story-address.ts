import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { findStepByNumber } from '../../thread/thread-chain.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';

/** So many steps are on one page of a story: browsers take megabytes for each hundred. */
export const STORY_STEPS = 200;

/**
 * The address of a place in a thread's story.
 * @param count how many steps the thread has
 * @param number of the step that stands there, or of the next one
 */
export function storyAddress(thread: ThreadId, count: number, number: number, anchor: string): string {
  const before = Math.min(number + STORY_STEPS / 2, count + 1);
  return number > count - STORY_STEPS ? `/t/${thread}#${anchor}` : `/t/${thread}?before=${before}#${anchor}`;
}

/** The commit from which steps before the step of this number are read: its own, so that no chain is walked from the head to it. */
export async function commitToReadFrom(
  repository: Repository,
  thread: Pick<ThreadPointer, 'id' | 'head'>,
  before: number | undefined,
): Promise<ObjectId> {
  if (before === undefined) return thread.head;
  return (await findStepByNumber(repository, thread.head, before))?.id ?? thread.head;
}
