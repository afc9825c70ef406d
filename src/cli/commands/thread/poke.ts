import { defineCommand, type Command } from '../../command-line/command.ts';
import { promptFrom, promptOptions } from '../../command-line/read-text.ts';
import { agentOption, threadArgument } from '../../command-line/shared-arguments.ts';
import { followSteps, runExitCodes, stepOutcomeFields } from '../../follow/follow-run.ts';
import { ADOPT_LEASE } from '../../open/open-engine.ts';
import { openForWriting } from '../../open/open-repository.ts';

export const threadPokeCommand: Command = defineCommand({
  description: `Runs the role of the last step again, with its reply and your remark. The new step replaces the old one,
which stays as a parent of its commit: nothing is lost. If the role suspends instead, the thread does not change, and a fork
of it is suspended.`,
  arguments: [threadArgument],
  options: {
    prompt: { ...promptOptions.prompt, summary: "your remark; '-' reads it from stdin" },
    file: { ...promptOptions.file, summary: "read the remark from a file; '-' is stdin" },
    agent: { ...agentOption, summary: 'let this agent of the configuration do it' },
  },
  json: stepOutcomeFields,
  examples: [
    { command: "uwf thread poke 01KAM4 -p 'Shorter, please'", comment: 'the same role, the same step, once more' },
    { command: "uwf thread poke 01KAM4 --agent local -p 'Try it your way'", comment: 'by another agent' },
  ],
  exitCodes: { ...runExitCodes, 0: 'the step is replaced, or the thread has ended with that' },
  async run({ args, options, cli, out }) {
    const word = await promptFrom(cli, options, {
      question: 'What do you have to say about the last step?',
      missing: 'nothing is said about the last step',
    });
    const repository = await openForWriting(cli);
    const wish = { agent: options.agent, adoptLease: cli.env[ADOPT_LEASE] || undefined };
    return followSteps({ cli, out }, repository, (engine) => engine.poke(args.thread, word, wish));
  },
});
