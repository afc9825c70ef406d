import { monotonicMs } from '../../monotonic-ms.ts';
import type { JobAtWork } from './job-at-work.ts';
import type { LockTimes, ListenedQueue } from './listened-queue.ts';
import type { ListenedQueues } from './listened-queues.ts';
import type { RedisConnection } from './redis-connection.ts';
import type { Troubles } from './troubles.ts';

/**
 * Renews the locks of the jobs at work, aborts those whose lock another worker has, and offers the jobs of ended workers again.
 *
 * While Redis is away, nothing is aborted: no other worker can get the jobs there, and their agents may be close to the end.
 * @returns ends it
 */
export function keepLocks(
  connection: RedisConnection,
  atWork: ReadonlyMap<string, JobAtWork>,
  queues: ListenedQueues,
  { lockMs, tickMs }: LockTimes,
  troubles: Troubles,
): () => void {
  let isBusy = false;
  let readyAtMs = monotonicMs();
  const tick = async (): Promise<void> => {
    if (isBusy || !connection.isReady) return;
    isBusy = true;
    try {
      await renew(atWork);
      // Workers that have just come back, as this one, need time to renew locks that ran out meanwhile.
      if (monotonicMs() - readyAtMs >= lockMs / 2) await queues.recover();
    } catch (error) {
      troubles.tell(error);
    }
    isBusy = false;
  };
  const onReady = (): void => {
    readyAtMs = monotonicMs();
    void tick();
  };
  const timer = setInterval(() => void tick(), tickMs);
  connection.client.on('ready', onReady);
  return () => {
    clearInterval(timer);
    connection.client.off('ready', onReady);
  };
}

async function renew(atWork: ReadonlyMap<string, JobAtWork>): Promise<void> {
  const byQueue = new Map<ListenedQueue, JobAtWork[]>();
  for (const each of atWork.values()) {
    const { queue } = each.locked;
    byQueue.set(queue, [...(byQueue.get(queue) ?? []), each]);
  }
  for (const [queue, jobs] of byQueue) {
    const lost = await queue.renew(jobs.map(({ locked }) => locked));
    // One that got another lock meanwhile has that one.
    for (const each of jobs) if (lost.includes(each.locked)) each.abort('another worker has the job');
  }
}
