import { runInBackground } from '../background.ts';
import { defineCommand, type Command } from '../command.ts';
import { openEngine } from '../engine-here.ts';
import { followRun, runExitCodes, runFields } from '../follow-run.ts';
import { readPrompt } from '../input/read-prompt.ts';
import { openToWrite } from '../open-repository.ts';
import { startHere } from '../start-here.ts';
import { limitsOf, startOptions } from '../start-options.ts';

export const command: Command = defineCommand({
  summary: 'start a thread and run it to its end',
  description: `Starts a thread of a workflow and runs it: the moderator picks a role, the role's agent does its turn, the step is
stored, and so on until the workflow ends or something needs you. Steps are shown on stderr as they finish; the summary of
the end is printed on stdout.

The workflow is a hash, a path to a file, a name in .uwf/workflows/ here or in a folder above, or a registered name.`,
  arguments: [{ name: 'workflow', summary: 'the workflow to run', candidates: 'workflow' }],
  options: {
    ...startOptions,
    background: { short: 'b', summary: 'run it in a process of its own and print its id at once' },
  },
  json: { shape: 'lines', fields: runFields },
  examples: [
    { command: "uwf run develop -p 'Add a --dry-run option'", comment: 'start and watch' },
    { command: 'uwf run develop -F task.md --background', comment: 'start and leave; uwf thread join waits for it' },
    { command: 'gh issue view 7 | uwf run solve-issue -p -', comment: 'the prompt from a pipe' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const request = {
      workflow: args.workflow,
      prompt: () => readPrompt(cli, options),
      limits: limitsOf(options),
      requireAgents: true,
    };
    if (!options.background) {
      return followRun({ cli, out }, repository, async (engine) => {
        const { thread } = await startHere(cli, repository, engine, request);
        return engine.run(thread);
      });
    }
    const started = await startHere(cli, repository, await openEngine(cli, repository), request);
    const { thread, head, workflow } = started;
    const log = await runInBackground(cli, repository, thread, ['thread', 'run', thread]);
    await out.result({ thread, head, workflow, status: 'running', log }, () => thread);
    out.hint(`'uwf thread join ${thread}' waits for it; what it says is in ${log}`);
    return undefined;
  },
});
