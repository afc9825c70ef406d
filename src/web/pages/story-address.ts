import type { ThreadId } from '../../thread/thread-id.ts';

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
