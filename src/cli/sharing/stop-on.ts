import { describeThread } from '../../engine/describe/describe.ts';
import type { ThreadOver } from '../../engine/events.ts';

import type { Repository } from '../../git/repository.ts';
import { removeClaims, stopWork } from '../../sync/stop-work.ts';
import { isOver } from '../../thread/thread-status.ts';
import { WrongThreadState } from '../../thread/thread-errors.ts';
import { readingContext } from '../../engine/engine-context.ts';
import type { Output } from '../output/output.ts';
import { oneLine } from '../output/width.ts';
import type { CliEnvironment } from '../process/cli-environment.ts';
import { bringThread, openRemoteWorld, sendThread } from './remote-run.ts';

type World = { cli: CliEnvironment; out: Output };

/** Stops the work on a thread at a remote, and on the threads below it. Prints which workers had them. */
export async function stopOn({ cli, out }: World, text: string, on: string): Promise<void> {
  const world = await openRemoteWorld({ cli, out }, on);
  const { repository, remote } = world;
  const { followed } = await bringThread(world, text);
  const { thread, status, head } = await describeThread(readingContext(repository), followed.thread);
  if (isOver(status)) {
    throw new WrongThreadState(thread, status, 'it is over already', `run 'uwf thread show ${thread}'`);
  }
  const claims = await stopWork(repository, remote, followed.open, { env: cli.env, signal: cli.signal });
  const workers = claims.map(({ thread, worker, host }) => ({ thread, worker, host }));
  const result = { thread, status, head, wasRunning: workers.length > 0, isKilled: false, workers };
  await out.result(result, () => {
    const names = [...new Set(workers.map(({ worker, host }) => `${oneLine(worker)} on ${oneLine(host)}`))];
    const had =
      names.length === 0
        ? 'no worker had claimed it'
        : `${names.join(', ')} publishes nothing more of it, and ends its agent when it next looks at ${remote.name}`;
    return `thread ${out.paint.id(thread)} is stopped at ${remote.name}: ${had}`;
  });
  out.hint(`'uwf thread run ${thread} --on ${remote.name}' lets it go on`);
}

/**
 * Cancels a thread of a remote: as it stands there, with the threads below it.
 * @param cancel cancels it in this repository
 */
export async function cancelOn(
  { cli, out }: World,
  text: string,
  on: string,
  cancel: (repository: Repository, thread: string) => Promise<ThreadOver>,
): Promise<ThreadOver> {
  const world = await openRemoteWorld({ cli, out }, on);
  const { repository, remote } = world;
  const options = { env: cli.env, signal: cli.signal };
  const { followed } = await bringThread(world, text);
  const { status } = await describeThread(readingContext(repository), followed.thread);
  if (isOver(status)) return cancel(repository, followed.thread);
  // No worker publishes a step while the end is written and sent.
  await stopWork(repository, remote, followed.open, options);
  await followed.look();
  const places = followed.open;
  const over = await cancel(repository, followed.thread);
  await sendThread(
    world,
    followed.thread,
    {},
    places.map(({ thread }) => thread),
  );
  await removeClaims(repository, remote, places, options);
  return over;
}
