import type { ThreadOver } from '../../../engine/events.ts';
import type { Repository } from '../../../git/repository.ts';
import { threadArgument, onOption } from '../../command-line/shared-arguments.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openEngine } from '../../open/open-engine.ts';
import { parseDuration } from '../../command-line/parse-value.ts';
import { openForWriting } from '../../open/open-repository.ts';
import type { Engine } from '../../../engine/engine.ts';
import { findThread } from '../../../thread/find-thread.ts';
import type { ThreadId } from '../../../thread/thread-id.ts';

export const threadCancelCommand: Command = defineCommand({
  description: `Stops the process that runs the thread, cancels its children, and writes its end. All its steps stay
readable. The thread that called it goes on, and is told how it ended.

With --on a thread of a remote is cancelled: it is fetched, its end is written here and pushed, and workers that have it stop.`,
  arguments: [threadArgument],
  options: {
    reason: { short: 'm', value: '<text>', summary: 'why; becomes the summary' },
    grace: { value: '<span>', summary: 'wait so long before killing; 10s', parse: parseDuration },
    on: { ...onOption, summary: 'cancel it at this remote, and stop its workers' },
  },
  json: {
    event: 'thread.cancelled',
    thread: 'the thread',
    status: 'cancelled',
    returnCode: '130',
    head: 'its last commit',
    text: 'the reason',
  },
  examples: [
    { command: "uwf thread cancel 01KAM4 -m 'superseded by #12'", comment: 'with a reason' },
    { command: 'uwf thread cancel 01KAM4 --on origin', comment: 'at a remote; the worker that has it stops' },
  ],
  async run({ args, options, cli, out }) {
    const { reason, grace: graceMs, on } = options;
    const given = { reason, graceMs };
    const tell = ({ event, thread, status, returnCode, head, text }: ThreadOver): Promise<void> =>
      out.result(
        { event, thread, status, returnCode, head, text },
        () => `thread ${out.paint.id(thread)} is cancelled`,
      );
    if (on !== undefined) {
      const { cancelOn } = await import('../../sharing/on-remote.ts');
      const cancel = async (there: Repository, thread: string): Promise<ThreadOver> =>
        (await openEngine(cli, there)).cancel(thread, given);
      return tell(await cancelOn({ cli, out }, args.thread, on, cancel));
    }
    const repository = await openForWriting(cli);
    const engine = await openEngine(cli, repository);
    const over = await engine.cancel(args.thread, given);
    await tell(over);
    if (out.isJson) return;
    const caller = await findWaitingCaller(engine, repository, over.thread);
    if (caller !== undefined) out.hint(`'uwf thread resume ${caller}' lets the thread that called it go on`);
  },
});

/** The thread that called a thread, if it waits for a child. */
async function findWaitingCaller(
  engine: Engine,
  repository: Repository,
  thread: ThreadId,
): Promise<ThreadId | undefined> {
  const { parent } = await engine.describe(thread);
  if (parent === null || (await findThread(repository, parent)) === undefined) return undefined;
  const { status, cause } = await engine.describe(parent);
  return status === 'suspended' && cause === 'child' ? parent : undefined;
}
