import type { Repository } from '../git/repository.ts';
import { removeRemoteThread } from '../sync/remove-remote-thread.ts';
import { ThreadNotThere } from '../sync/select-refs.ts';
import { listPointers } from '../thread/find-thread.ts';
import { isThreadId, type ThreadId } from '../thread/thread-id.ts';
import type { CliContext } from './context.ts';
import { withExchangeOptions } from './exchange-options.ts';
import { openRemoteHere } from './open-remote-here.ts';
import { removeHere, type RemovedThread } from './remove-here.ts';

/** A thread that was removed, and the remote that it was removed from, too; null if that did not have it. */
export type RemovedEverywhere = RemovedThread & { remote: string | null };

/**
 * Removes a thread from a remote and from this repository: first there, since that can fail for reasons that only others
 * can do something about, and then both are as before.
 *
 * @param name the remote as it was typed; `undefined` for the one that git would push to
 * @param thread its id or a prefix; one that only the remote has is named by its whole id
 */
export async function removeEverywhere(
  cli: CliContext,
  repository: Repository,
  name: string | undefined,
  thread: string,
  { force, isDry }: { force: boolean; isDry: boolean },
): Promise<RemovedEverywhere> {
  const remote = await openRemoteHere(cli, repository, { name, direction: 'push' });
  return withExchangeOptions(cli, async (exchange) => {
    const whole = thread.toUpperCase();
    if (isThreadId(whole) && !(await listPointers(repository)).some(({ id }) => id === whole)) {
      if (!isDry) await removeRemoteThread({ repository }, remote, whole, exchange);
      return { thread: whole, head: null, remote: remote.url };
    }
    let url: string | null = remote.url;
    const before = async (id: ThreadId): Promise<void> => {
      try {
        await removeRemoteThread({ repository }, remote, id, exchange);
      } catch (error) {
        if (!(error instanceof ThreadNotThere)) throw error;
        url = null;
      }
    };
    const removed = await removeHere(repository, thread, { force, isDry, before });
    return { ...removed, remote: url };
  });
}
