import { defineCommand, type Command } from '../../command-line/command.ts';
import { foldGathered } from '../../open/fold-gathered.ts';
import { openEngine } from '../../open/open-engine.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { startHere, startOptions } from '../../threads/start-thread.ts';

export const threadStartCommand: Command = defineCommand({
  description: `Writes the first commit of a thread and prints the thread's id. The definition is pinned: a later change of
the workflow file does not change this thread. No agent runs yet, and none needs to be configured.`,
  arguments: [{ name: 'workflow', summary: 'the workflow to start', candidates: 'workflow' }],
  options: startOptions,
  json: {
    thread: "the new thread's id",
    head: 'its first commit',
    workflow: "its workflow's name",
    status: 'idle',
    nextRole: 'who is first',
  },
  examples: [
    { command: "uwf thread start develop -p 'Add a --dry-run option'", comment: 'print the id of a new thread' },
    { command: 'uwf thread step $(uwf thread start develop -F task.md)', comment: 'and do its first step' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const engine = await openEngine(cli, repository);
    const request = { workflow: args.workflow, options, requireAgents: false };
    const started = await startHere(cli, repository, engine, request);
    const { thread, head, workflow, status, nextRole } = started;
    await out.result({ thread, head, workflow, status, nextRole }, () => thread);
    out.hint(`'uwf thread run ${thread}' runs it, 'uwf thread step ${thread}' does one step`);
    await foldGathered(cli, repository);
  },
});
