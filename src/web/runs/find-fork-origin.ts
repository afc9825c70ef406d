import { findFacts } from '../../engine/describe/facts.ts';
import type { Repository } from '../../git/repository.ts';
import { findThread, type ThreadPointer } from '../../thread/find/find-thread.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import { parseThreadId, type ThreadId } from '../../thread/thread-id.ts';

/**
 * Finds the thread that another is a fork of, from what this machine remembers of its start: a fork shares it.
 * @returns `undefined` for a thread that is none, and where its start is not remembered or its origin is gone
 */
export async function findForkOrigin(
  repository: Repository,
  { id, head }: ThreadPointer,
): Promise<ThreadId | undefined> {
  const facts = findFacts(repository, id, head);
  const start = facts && (await readThreadCommit(repository, facts.startCommit));
  if (start?.kind !== 'start' || start.node.id === id) return undefined;
  return (await findThread(repository, parseThreadId(start.node.id)))?.id;
}
