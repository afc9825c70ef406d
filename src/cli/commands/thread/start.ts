import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { readPrompt } from '../../input/read-prompt.ts';
import { openToWrite } from '../../open-repository.ts';
import { startHere } from '../../start-here.ts';
import { limitsOf, startOptions } from '../../start-options.ts';

export const command: Command = defineCommand({
  summary: 'start a thread without running it',
  description: `Writes the first commit of a thread and prints the thread's id. The definition is pinned: what is changed in the
workflow file afterwards does not change this thread. No agent runs yet, and none has to be configured.`,
  arguments: [{ name: 'workflow', summary: 'the workflow to start', candidates: 'workflow' }],
  options: startOptions,
  json: {
    shape: 'object',
    fields: {
      thread: "the new thread's id",
      head: 'its first commit',
      workflow: "its workflow's name",
      status: 'idle',
      nextRole: 'who is first',
    },
  },
  examples: [
    { command: "uwf thread start develop -p 'Add a --dry-run option'", comment: 'print the id of a new thread' },
    { command: 'uwf thread step $(uwf thread start develop -F task.md)', comment: 'and do its first step' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const engine = await openEngine(cli, repository);
    const started = await startHere(cli, repository, engine, {
      workflow: args.workflow,
      prompt: () => readPrompt(cli, options),
      limits: limitsOf(options),
      requireAgents: false,
    });
    const { thread, head, workflow, status, nextRole } = started;
    await out.result({ thread, head, workflow, status, nextRole }, () => thread);
    out.hint(`'uwf thread run ${thread}' runs it, 'uwf thread step ${thread}' does one step`);
  },
});
