import type { ThreadOver } from '../../../engine/events.ts';
import type { Repository } from '../../../git/repository.ts';
import { threadArgument, onOption } from '../../command-line/shared-arguments.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openEngine } from '../../open/open-engine.ts';
import { parseDuration } from '../../command-line/parse-value.ts';
import { openForReading, openForWriting } from '../../open/open-repository.ts';
import { readingContext } from '../../open/reading-context.ts';
import { describeThread } from '../../../engine/describe/describe.ts';
import { findThread } from '../../../thread/find/find-thread.ts';
import type { ThreadId } from '../../../thread/thread-id.ts';

export const command: Command = defineCommand({
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
    const cancel = async (repository: Repository, thread: string): Promise<ThreadOver> =>
      (await openEngine(cli, repository)).cancel(thread, { reason, graceMs });
    const over =
      on === undefined
        ? await cancel(await openForWriting(cli), args.thread)
        : await (await import('../../sharing/stop-on.ts')).cancelOn({ cli, out }, args.thread, on, cancel);
    const { event, thread, status, returnCode, head, text } = over;
    const result = { event, thread, status, returnCode, head, text };
    await out.result(result, () => `thread ${out.paint.id(thread)} is cancelled`);
    if (on !== undefined || out.isJson) return;
    const caller = await findWaitingCaller(await openForReading(cli), thread);
    if (caller !== undefined) out.hint(`'uwf thread resume ${caller}' lets the thread that called it go on`);
  },
});

/** The thread that called a thread, if it waits for a child. */
async function findWaitingCaller(repository: Repository, thread: ThreadId): Promise<ThreadId | undefined> {
  const context = readingContext(repository);
  const { parent } = await describeThread(context, thread);
  if (parent === null || (await findThread(repository, parent)) === undefined) return undefined;
  const { status, cause } = await describeThread(context, parent);
  return status === 'suspended' && cause === 'child' ? parent : undefined;
}
