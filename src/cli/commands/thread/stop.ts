import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { parseDuration } from '../../input/parse-value.ts';
import { openToRead } from '../../open-repository.ts';

export const command: Command = defineCommand({
  summary: 'end the work on a thread, but not the thread',
  description: `Asks the process that works on the thread to stop, agent included, and kills both when they have not ended within the
grace time. The thread stays where its last step left it and can be run on.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: { grace: { value: '<span>', summary: 'wait so long before killing; 10s', parse: parseDuration } },
  json: {
    shape: 'object',
    fields: {
      thread: 'the thread',
      status: 'how it stands now',
      head: 'the commit that it is at',
      wasRunning: 'whether anybody worked on it',
      isKilled: 'whether that had to be forced',
    },
  },
  examples: [{ command: 'uwf thread stop 01KAM4', comment: 'stop it; uwf thread run goes on' }],
  async run({ args, options, cli, out }) {
    const engine = await openEngine(cli, await openToRead(cli));
    const stopped = await engine.stop(args.thread, options.grace === undefined ? {} : { graceMs: options.grace });
    const { thread, status, head } = await engine.describe(args.thread);
    await out.result({ thread, status, head, ...stopped }, () =>
      stopped.wasRunning
        ? `thread ${out.paint.id(thread)} was stopped${stopped.isKilled ? ' by force' : ''} and is ${status}`
        : `no process works on thread ${out.paint.id(thread)}; it is ${status}`,
    );
  },
});
