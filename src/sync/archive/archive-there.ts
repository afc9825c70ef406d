import type { ObjectId } from '../../git/format/object-id.ts';
import type { Remote, RemoteRef } from '../../git/transport/remote.ts';
import type { Repository } from '../../git/repository.ts';
import { ArchiveList, findListFault, LIST_REF, type ArchivedThread } from '../../thread/archive/archive-list.ts';
import type { Tip } from '../refs/sorted-refs.ts';
import { bringList } from './bring-list.ts';
import { readTrackedRef } from '../refs/tracking.ts';
import type { SyncOptions } from '../sync-options.ts';

/** The archive of a remote: the list, and the commit that its ref is at. */
export type ArchiveThere = {
  list: ArchiveList;
  commit: ObjectId | undefined;
  /** What is wrong with the list, which counts as empty then. */
  fault?: string;
};

/**
 * Opens the list of a remote's archive. If the list is not here yet, fetches it, and nothing else.
 * @param there the remote's refs
 * @throws {RemoteUnreachable} as `Remote`
 */
export async function openArchiveThere(
  repository: Repository,
  remote: Remote,
  there: readonly RemoteRef[],
  options: Pick<SyncOptions, 'signal' | 'onProgress'>,
): Promise<ArchiveThere> {
  const { objects } = repository;
  const commit = there.find(({ name }) => name === LIST_REF)?.id;
  if (commit === undefined) return { list: new ArchiveList(objects, commit), commit };
  if (await objects.has(commit)) {
    // The ref can lead to anything, also to what is here for another reason. A list that a fetch took in was checked.
    const isChecked = (await readTrackedRef(repository, remote, LIST_REF)) === commit;
    const fault = isChecked ? undefined : await findListFault(objects, commit);
    return fault === undefined
      ? { list: new ArchiveList(objects, commit), commit }
      : { list: new ArchiveList(objects, undefined), commit, fault };
  }
  const brought = await bringList(repository, remote, options);
  return { ...brought, list: new ArchiveList(objects, brought.fault === undefined ? brought.commit : undefined) };
}

/** An archived thread as a tip of the remote. */
export function tipOfArchived({ end, endedOn }: ArchivedThread): Tip {
  return { id: end, endedOn, isArchived: true };
}
