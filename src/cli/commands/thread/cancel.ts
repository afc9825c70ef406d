import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { parseDuration } from '../../input/parse-value.ts';
import { openToWrite } from '../../open-repository.ts';

export const command: Command = defineCommand({
  summary: 'end a thread for good',
  description: `Stops the process that works on the thread, cancels the threads that it called, and writes its end. Everything it did stays
readable.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    reason: { short: 'm', value: '<text>', summary: 'why; becomes the summary' },
    grace: { value: '<span>', summary: 'wait so long before killing; 10s', parse: parseDuration },
  },
  json: {
    shape: 'object',
    fields: {
      event: 'thread.cancelled',
      thread: 'the thread',
      status: 'cancelled',
      returnCode: '130',
      head: 'its last commit',
      text: 'the reason',
    },
  },
  examples: [{ command: "uwf thread cancel 01KAM4 -m 'superseded by #12'", comment: 'with a reason' }],
  async run({ args, options, cli, out }) {
    const engine = await openEngine(cli, await openToWrite(cli));
    const { event, thread, status, returnCode, head, text } = await engine.cancel(args.thread, {
      ...(options.reason !== undefined && { reason: options.reason }),
      ...(options.grace !== undefined && { graceMs: options.grace }),
    });
    await out.result(
      { event, thread, status, returnCode, head, text },
      () => `thread ${out.paint.id(thread)} is cancelled`,
    );
  },
});
