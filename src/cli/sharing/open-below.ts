import type { Repository } from '../../git/repository.ts';
import { isOver } from '../../thread/thread-status.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { readingContext } from '../../engine/engine-context.ts';

/** The threads that one which is not over called, and those that they called, which are not over and are here. */
export async function findOpenBelow(repository: Repository, thread: ThreadId): Promise<ThreadId[]> {
  const { describeThread } = await import('../../engine/describe/describe.ts');
  const { status, calls } = await describeThread(readingContext(repository), thread);
  if (isOver(status)) return [];
  const open: ThreadId[] = [];
  for (const call of calls) {
    if (!isOver(call.status)) open.push(call.thread, ...(await findOpenBelow(repository, call.thread)));
  }
  return open;
}
