import { defineCommand, type Command } from '../../command-line/command.ts';
import { parseCount } from '../../command-line/parse-value.ts';
import { agentOption, threadArgument } from '../../command-line/shared-arguments.ts';
import { followSteps, runExitCodes, stepOutcomeFields } from '../../follow/follow-run.ts';
import { openForWriting } from '../../open/open-repository.ts';

export const threadStepCommand: Command = defineCommand({
  description: `Decides who is next, runs that role's agent, stores the step, and decides again: if the workflow ends there,
the thread is ended at once. If another process works on the thread, the command names it and exits with 5.`,
  arguments: [threadArgument],
  options: {
    count: { short: 'c', value: '<n>', summary: 'do so many steps, or fewer if the thread stops', parse: parseCount },
    role: { value: '<role>', summary: 'let this role go, whatever the moderator says' },
    agent: agentOption,
  },
  json: stepOutcomeFields,
  examples: [
    { command: 'uwf thread step 01KAM4', comment: 'one step' },
    { command: 'uwf thread step 01KAM4 -c 5 --json', comment: 'five steps, a line of JSON for each' },
  ],
  exitCodes: { ...runExitCodes, 0: 'the step is stored, or the thread has ended' },
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const { role, agent, count } = options;
    return followSteps(
      { cli, out },
      repository,
      (engine, taken) => engine.step(args.thread, { role, agent: taken === 0 ? agent : undefined }),
      count,
    );
  },
});
