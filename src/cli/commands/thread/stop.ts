import { threadArgument, onOption } from '../../command-line/shared-arguments.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openEngine } from '../../open/open-engine.ts';
import { parseDuration } from '../../command-line/parse-value.ts';
import { openForReading } from '../../open/open-repository.ts';

export const threadStopCommand: Command = defineCommand({
  description: `Asks the process that runs the thread, and its agent, to stop, and kills them if they have not ended within
the grace time. The thread keeps its steps and can be run on. Of a thread that another thread called, only its own work ends:
the caller waits for it, and goes on with its other branches.

With --on the work on the thread and on those below it stops at a remote: workers publish nothing more of it, end their agents,
and take it again only after 'uwf thread run --on'. A turn that is cut off is taken again from its start.`,
  arguments: [threadArgument],
  options: {
    grace: { value: '<span>', summary: 'wait so long before killing; 10s', parse: parseDuration },
    on: { ...onOption, summary: 'stop the workers of this remote' },
  },
  json: {
    thread: 'the thread',
    status: 'how it stands now',
    head: 'the commit that it is at',
    wasRunning: 'whether a process worked on it',
    isKilled: 'whether it had to be killed',
    workers: 'with --on: the workers that had it, or threads below it: thread, worker, host',
  },
  examples: [
    { command: 'uwf thread stop 01KAM4', comment: 'stop it; uwf thread run goes on' },
    { command: 'uwf thread stop 01KAM4 --on origin', comment: 'the same at a remote; uwf thread run --on goes on' },
  ],
  async run({ args, options, cli, out }) {
    if (options.on !== undefined) {
      const { stopOn } = await import('../../sharing/on-remote.ts');
      return stopOn({ cli, out }, args.thread, options.on);
    }
    const engine = await openEngine(cli, await openForReading(cli));
    const stopped = await engine.stop(args.thread, { graceMs: options.grace });
    const { thread, status, head } = await engine.describe(args.thread);
    await out.result({ thread, status, head, ...stopped }, () =>
      stopped.wasRunning
        ? `thread ${out.paint.id(thread)} was stopped${stopped.isKilled ? ' by force' : ''} and is ${status}`
        : `no process works on thread ${out.paint.id(thread)}; it is ${status}`,
    );
  },
});
