import { findTurnOf, type FoundTurn } from '../../engine/describe/find-turn.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find-thread.ts';
import { findStepByNumber } from '../../thread/thread-chain.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import type { Site } from '../site.ts';

/** The address of all that was said in a turn, as text: pages have the beginning of what is long. */
export function textAddress(thread: string, turn: string): string {
  return `/t/${thread}/${turn}/text`;
}

/** All that was said in a step, or in a turn that ended in a suspension. */
export async function stepText({ engine: { repository } }: Site, id: string, text: string): Promise<string> {
  const { commit } = await findTurnOf(repository, await getThread(repository, id), text);
  return readReplyAt(repository, commit);
}

/** Reads what was said in a turn; '' for one that said nothing. */
export async function readReplyAt(repository: Repository, commit: FoundTurn['commit']): Promise<string> {
  const isSilent = commit.kind === 'suspend' && commit.node.content === null;
  return isSilent ? '' : readTextAt(repository, commit, 'output.md');
}

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
