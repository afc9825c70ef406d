import { findTurnOf, type FoundTurn } from '../../engine/describe/find-turn.ts';
import type { Repository } from '../../git/repository.ts';
import { getThread } from '../../thread/find-thread.ts';
import { readTextAt } from '../../thread/thread-commit.ts';
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
