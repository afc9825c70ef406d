import { runInBackground } from '../../process/background.ts';
import { agentOption, threadArgument, publishOptions, sendOptions } from '../../command-line/shared-arguments.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { ADOPT_LEASE, openEngine } from '../../open/open-engine.ts';
import { followRun, runExitCodes, runFields } from '../../follow/follow-run.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { getThread } from '../../../thread/find-thread.ts';

export const threadRunCommand: Command = defineCommand({
  description: `Runs a thread from its head until it ends or is suspended. After a crash nothing has to be repaired: stored
steps are never repeated.

With --on the workers of a remote run it ('uwf worker'): it is sent there if it is not, goes on if it was stopped, and what they
publish is shown here as it comes. Ctrl-C ends the following, not the thread.`,
  arguments: [threadArgument],
  options: {
    agent: agentOption,
    ...sendOptions,
    'allow-secrets': { summary: `with --on: ${publishOptions['allow-secrets'].summary}` },
    background: { short: 'b', summary: 'run it in a process of its own and come back at once' },
  },
  json: runFields,
  examples: [
    { command: 'uwf thread run 01KAM4', comment: 'go on and watch' },
    { command: 'uwf thread run 01KAM4 --on origin', comment: 'let workers of a remote run it, and watch' },
    { command: 'uwf thread run 01KAM4 --json | tail -1', comment: 'how it came out' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    if (options.on !== undefined) {
      const { bringThread, openRemoteWorld, sendThread } = await import('../../sharing/remote-run.ts');
      const { assertNotElsewhere } = await import('../../sharing/on-remote.ts');
      const { goOnThere } = await import('../../follow/follow-remote.ts');
      const world = await openRemoteWorld({ cli, out }, options.on);
      const { followed, news } = await bringThread(world, args.thread);
      await assertNotElsewhere(world, followed);
      await sendThread(world, followed.thread, options);
      return goOnThere(world, followed.thread, followed, options.background, news);
    }
    const repository = await openForWriting(cli);
    const { id: thread, head } = await getThread(repository, args.thread);
    const { agent, background } = options;
    if (!background) {
      const wish = { adoptLease: cli.env[ADOPT_LEASE] || undefined, agent };
      return followRun({ cli, out }, repository, (engine) => engine.run(thread, wish), thread);
    }
    await (await openEngine(cli, repository)).checkRun(thread, { agent });
    return runInBackground({ cli, out }, repository, { thread, head }, [
      'thread',
      'run',
      thread,
      ...(agent === undefined ? [] : [`--agent=${agent}`]),
    ]);
  },
});
