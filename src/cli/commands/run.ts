import { runInBackground } from '../process/background.ts';
import { defineCommand, type Command } from '../command-line/command.ts';
import { publishOptions, sendOptions } from '../command-line/shared-arguments.ts';
import { openEngine } from '../open/open-engine.ts';
import { followRun, runExitCodes, runFields } from '../follow/follow-run.ts';
import { openForWriting } from '../open/open-repository.ts';
import { startHere, startOptions } from '../threads/start-thread.ts';

export const runCommand: Command = defineCommand({
  description: `Starts a thread of a workflow and runs it: the moderator picks a role, the role's agent does its turn, the step is
stored, and so on until the workflow ends or something needs you. Steps are shown on stderr as they finish; the summary of
the end is printed on stdout.

With --on the thread runs on other machines, by the workers of a remote ('uwf worker'), with the agents that they have. It gets
a work tree of its own, made from a commit that the remote has. What the workers publish is shown here as it comes; Ctrl-C ends
the following, not the thread.

The workflow is a hash, a path to a file, a name in .uwf/workflows/ here or in a folder above, or a registered name.`,
  arguments: [{ name: 'workflow', summary: 'the workflow to run', candidates: 'workflow' }],
  options: {
    ...startOptions,
    ...sendOptions,
    'allow-secrets': { summary: `with --on: ${publishOptions['allow-secrets'].summary}` },
    background: { short: 'b', summary: 'run it in a process of its own and print its id at once' },
  },
  json: runFields,
  examples: [
    { command: "uwf run develop -p 'Add a --dry-run option'", comment: 'start and watch' },
    { command: 'uwf run develop -F task.md --background', comment: 'start and leave; uwf thread join waits for it' },
    { command: "uwf run develop -p 'Fix #7' --on origin", comment: 'let workers of a remote do it, and watch' },
    { command: 'gh issue view 7 | uwf run solve-issue -p -', comment: 'the prompt from a pipe' },
  ],
  exitCodes: runExitCodes,
  async run({ args, options, cli, out }) {
    const { on } = options;
    if (on !== undefined) {
      const { startOn } = await import('../sharing/on-remote.ts');
      return startOn({ cli, out }, args.workflow, { ...options, on });
    }
    const repository = await openForWriting(cli);
    const request = { workflow: args.workflow, options, requireAgents: true };
    if (!options.background) {
      return followRun({ cli, out }, repository, async (engine) => {
        const { thread } = await startHere(cli, repository, engine, request);
        return engine.run(thread);
      });
    }
    const started = await startHere(cli, repository, await openEngine(cli, repository), request);
    const { thread, head, workflow } = started;
    return runInBackground({ cli, out }, repository, { thread, head, workflow }, ['thread', 'run', thread]);
  },
});
