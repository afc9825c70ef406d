import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { remember } from '../refs/tracking.ts';
import type { SyncOptions } from '../sync-options.ts';
import { findListFault, LIST_REF } from '../../thread/archive/archive-list.ts';

/**
 * Fetches the list of a remote's archive, and nothing else, and checks it.
 * @returns what its ref is at, and what is wrong with it; a list with a fault is not stored
 * @throws {RemoteUnreachable} as `Remote`
 */
export async function bringList(
  repository: Repository,
  remote: Remote,
  { signal, onProgress }: Pick<SyncOptions, 'signal' | 'onProgress'>,
): Promise<{ commit: ObjectId | undefined; fault?: string }> {
  const incoming = await remote.fetch({ refs: [LIST_REF], signal, onProgress });
  try {
    const commit = incoming.refs.find(({ name }) => name === LIST_REF)?.id;
    if (commit === undefined) return { commit };
    // Rarely needed.
    const { INCOMING_LIMITS, boundedObjects, incomingView } = await import('../../verify/incoming/incoming-limits.ts');
    const view = boundedObjects(incomingView(repository, incoming).objects, INCOMING_LIMITS);
    const fault = await findListFault(view, commit);
    if (fault !== undefined) return { commit, fault };
    const guard = await incoming.accept([commit]);
    try {
      await remember(repository, remote, [{ name: LIST_REF, value: commit }]);
    } finally {
      await guard.release();
    }
    return { commit };
  } finally {
    await incoming.discard();
  }
}
