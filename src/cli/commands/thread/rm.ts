import { describeThread } from '../../../engine/describe.ts';
import { takeLease } from '../../../engine/lease.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { removeThread } from '../../../thread/remove-thread.ts';
import { WrongThreadState } from '../../../thread/thread-errors.ts';
import { isOver } from '../../../thread/thread-status.ts';
import { defineCommand, type Command } from '../../command.ts';
import { readingContext } from '../../engine-here.ts';
import { openToWrite } from '../../open-repository.ts';

export const command: Command = defineCommand({
  summary: 'remove threads from this repository',
  description: `Removes a thread's refs; its commits are then git's to collect, unless another thread (a fork, a parent) still has them.
A thread that is not over is removed with --force only, one that somebody works on not at all.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: { force: { short: 'f', summary: 'remove it although it is not over' } },
  json: { shape: 'object', fields: { thread: 'the thread', head: 'the commit that it was at' } },
  examples: [
    { command: 'uwf thread rm 01KAM4', comment: 'a thread that is over' },
    { command: 'git fetch . <head>:refs/threads/<thread>', comment: 'and back again, until git has collected it' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const { id } = await getThread(repository, args.thread);
    const { status } = await describeThread(readingContext(repository), id).catch(() => ({
      status: 'corrupt' as const,
    }));
    if (!isOver(status) && status !== 'running' && !options.force) {
      throw new WrongThreadState(
        id,
        status,
        'it is not over',
        `'uwf thread cancel ${id}' ends it; --force removes it as it is`,
      );
    }
    // Under the lease, so that nobody begins a turn whose step would then have no thread.
    const lease = await takeLease(repository, id);
    try {
      const thread = await getThread(repository, id);
      await removeThread(repository, thread);
      await out.result(
        { thread: id, head: thread.head },
        () => `removed thread ${out.paint.id(id)} (was ${thread.head})`,
      );
    } finally {
      lease.release();
    }
  },
});
