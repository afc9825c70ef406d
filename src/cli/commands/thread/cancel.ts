import { threadArgument } from '../../command-line/shared-arguments.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openEngine } from '../../open/open-engine.ts';
import { parseDuration } from '../../command-line/parse-value.ts';
import { openForWriting } from '../../open/open-repository.ts';

export const command: Command = defineCommand({
  description: `Stops the process that runs the thread, cancels its children, and writes its end. All its steps stay
readable. The thread that called it goes on, and is told how it ended.`,
  arguments: [threadArgument],
  options: {
    reason: { short: 'm', value: '<text>', summary: 'why; becomes the summary' },
    grace: { value: '<span>', summary: 'wait so long before killing; 10s', parse: parseDuration },
  },
  json: {
    event: 'thread.cancelled',
    thread: 'the thread',
    status: 'cancelled',
    returnCode: '130',
    head: 'its last commit',
    text: 'the reason',
  },
  examples: [{ command: "uwf thread cancel 01KAM4 -m 'superseded by #12'", comment: 'with a reason' }],
  async run({ args, options, cli, out }) {
    const engine = await openEngine(cli, await openForWriting(cli));
    const { reason, grace: graceMs } = options;
    const { event, thread, status, returnCode, head, text } = await engine.cancel(args.thread, { reason, graceMs });
    const result = { event, thread, status, returnCode, head, text };
    await out.result(result, () => `thread ${out.paint.id(thread)} is cancelled`);
  },
});
