import { getThread } from '../thread/find-thread.ts';
import { readThread, type ThreadState } from '../thread/thread-state.ts';
import type { Repository } from '../git/repository.ts';

/** Finds a thread by its id or a prefix and reads it whole. */
export async function openThread(repository: Repository, idOrPrefix: string): Promise<ThreadState> {
  const { id, head } = await getThread(repository, idOrPrefix);
  return readThread(repository, id, head);
}
