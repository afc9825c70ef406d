import { UwfError } from '../../errors.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { absoluteUrl } from '../../git/repository/choose-remote.ts';
import type { Repository } from '../../git/repository.ts';
import { archiveThreads } from '../../thread/archive/archive-threads.ts';
import { dayOfEnd, type ThreadPointer } from '../../thread/thread-id.ts';
import type { PushReport } from '../report.ts';
import type { SyncOptions } from '../sync-options.ts';
import { openArchiveThere } from './archive-there.ts';
import { pushArchive } from './push-archive.ts';
import { LIST_REF, MAX_PLACE } from '../../thread/archive/archive-list.ts';

/**
 * Moves ended threads into the archive of a remote. They are sent with the checks of a push. What the remote then lists, by a
 * connection of its own, loses its refs here; the archive here remembers where it is.
 *
 * @returns what the push held or the remote refused, and the threads that were moved
 * @throws {RemoteUnreachable} as `Remote`; threads that were not moved by then stay here
 */
export async function archiveTo(
  repository: Repository,
  remote: Remote,
  threads: readonly ThreadPointer[],
  options: SyncOptions,
): Promise<Required<Pick<PushReport, 'held' | 'rejected'>> & { archived: ThreadPointer[] }> {
  const place = placeOf(repository, remote);
  const lines = threads.map(({ id, ref, head }) => ({ id, end: head, endedOn: dayOfEnd(ref) }));
  const { archived: sent, held, rejected } = await pushArchive(repository, remote, options, { threads: lines });
  if (options.dryRun) {
    const ids = new Set(sent);
    return { archived: threads.filter(({ id }) => ids.has(id)), held, rejected };
  }
  const { list } = await openArchiveThere(repository, remote, await remote.list([LIST_REF], options.signal), options);
  const moved: ThreadPointer[] = [];
  for (const thread of threads) {
    const line = await list.find(thread.id);
    if (line?.end === thread.head && line.place === undefined) moved.push(thread);
  }
  const archived = await archiveThreads(repository, moved, { place, onProgress: options.onProgress });
  return { archived, held, rejected };
}

/** What the list says of where the threads are. */
function placeOf({ location }: Repository, remote: Remote): string {
  // Other clones and machines read the list: for them a relative path would lead elsewhere.
  const url = location === undefined ? remote.url : absoluteUrl(remote.url, location);
  // A line of the list ends at a space.
  const place = url.replaceAll(/[^!-~]/gu, encodeURIComponent);
  if (place.length <= MAX_PLACE) return place;
  throw new UwfError(`the URL of ${remote.name} has ${place.length} characters, and the archive takes ${MAX_PLACE}`, {
    code: 'place-too-long',
    kind: 'usage',
    hint: 'name the remote by a shorter URL; nothing was changed',
  });
}
