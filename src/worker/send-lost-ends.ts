import type { ThreadId } from '../thread/thread-id.ts';
import type { TurnWorld } from './turn-world.ts';

/**
 * Publishes threads that have ended here, and of which the remote has no ref any more. It leaves those that are not published, to
 * be tried again.
 * @throws {RemoteUnreachable}
 */
export async function sendLostEnds(
  { repository, remote, sync }: Pick<TurnWorld, 'repository' | 'remote' | 'sync'>,
  ends: Set<ThreadId>,
): Promise<void> {
  if (ends.size === 0) return;
  const { pushOnce } = await import('../sync/push-threads.ts');
  const facts = { there: [], scope: new Set(ends), refused: new Set<string>() };
  const { report } = await pushOnce(repository, remote, facts, sync);
  const isDone = report.held.length === 0 && report.rejected.length === 0;
  for (const thread of isDone ? ends : report.threads.map((change) => change.thread)) ends.delete(thread);
}
