import type { Remote, RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { openArchiveThere } from '../archive/archive-there.ts';
import { readSortedRefs, sortRefs } from '../refs/sorted-refs.ts';
import type { SyncOptions } from '../sync-options.ts';

/**
 * Finds threads of this repository of which a remote does not say what became of them: it has no ref of the thread, no line in
 * its archive, and no mark of a removal.
 * @param threads threads that the remote had when it was last seen
 * @param refs all its refs of threads now, with the marks and the archive
 */
export async function findVanished(
  repository: Repository,
  remote: Remote,
  threads: readonly ThreadId[],
  refs: readonly RemoteRef[],
  options: Pick<SyncOptions, 'signal' | 'onProgress'>,
): Promise<ThreadId[]> {
  const there = sortRefs(refs);
  const missing = threads.filter((thread) => !there.threads.has(thread) && !there.removed.has(thread));
  if (missing.length === 0) return [];
  const here = await readSortedRefs(repository);
  const { list } = await openArchiveThere(repository, remote, refs, options);
  const gone: ThreadId[] = [];
  for (const thread of missing)
    if (here.threads.has(thread) && (await list.find(thread)) === undefined) gone.push(thread);
  return gone;
}
