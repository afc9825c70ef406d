import { runInBackground } from '../../background.ts';
import { agentOption, wantedAgent } from '../../agent-option.ts';
import { defineCommand, type Command } from '../../command.ts';
import { ADOPT_LEASE, openEngine } from '../../engine-here.ts';
import { followRun, runExitCodes, runFields } from '../../follow-run.ts';
import { openToWrite } from '../../open-repository.ts';
import { getThread } from '../../../thread/find-thread.ts';

export const command: Command = defineCommand({
  summary: 'run a thread to its end',
  description: `Goes on with a thread from wherever its last step left it, until it ends or is suspended. After a crash nothing has
to be repaired: steps that were stored are never done again.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    agent: agentOption,
    background: { short: 'b', summary: 'run it in a process of its own and come back at once' },
  },
  json: { shape: 'lines', fields: runFields },
  examples: [
    { command: 'uwf thread run 01KAM4', comment: 'go on and watch' },
    { command: 'uwf thread run 01KAM4 --json | tail -1', comment: 'how it came out' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const { id: thread, head } = await getThread(repository, args.thread);
    if (!options.background) {
      const adoptLease = cli.env[ADOPT_LEASE];
      const wish = { ...(adoptLease && { adoptLease }), ...wantedAgent(options.agent) };
      return followRun({ cli, out }, repository, (engine) => engine.run(thread, wish), thread);
    }
    await (await openEngine(cli, repository)).checkRun(thread, wantedAgent(options.agent));
    const log = await runInBackground(cli, repository, thread, [
      'thread',
      'run',
      thread,
      ...(options.agent === undefined ? [] : [`--agent=${options.agent}`]),
    ]);
    await out.result({ thread, head, status: 'running', log }, () => thread);
    out.hint(`'uwf thread join ${thread}' waits for it; what it says is in ${log}`);
    return undefined;
  },
});
