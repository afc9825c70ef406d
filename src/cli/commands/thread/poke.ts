import { agentOption, wantedAgent } from '../../agent-option.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { exitCodeOfRun } from '../../exit-code.ts';
import { runExitCodes, showOver } from '../../follow-run.ts';
import { readPrompt } from '../../input/read-prompt.ts';
import { promptOptions } from '../../input/read-text.ts';
import { openToWrite } from '../../open-repository.ts';
import { createRunView } from '../../output/run-view.ts';
import { printStep, stepOutcomeFields } from '../../output/step-outcome.ts';

export const command: Command = defineCommand({
  summary: 'have the last step done again, with more to say',
  description: `Lets the role that took the last step take it again, told its reply and what you have to say about it. The new step
takes the place of the old one, which is kept as a parent of its commit: nothing is lost. Should the role wait for something
instead, the thread stays as it is and a fork of it waits.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    prompt: { ...promptOptions.prompt, summary: "what you have to say; '-' reads it from stdin" },
    file: { ...promptOptions.file, summary: "read it from a file; '-' is stdin" },
    agent: { ...agentOption, summary: 'let this agent of the configuration do it' },
  },
  json: { shape: 'lines', fields: stepOutcomeFields },
  examples: [
    { command: "uwf thread poke 01KAM4 -p 'Shorter, please'", comment: 'the same role, the same step, once more' },
    { command: "uwf thread poke 01KAM4 --agent local -p 'Try it your way'", comment: 'by another agent' },
  ],
  exitCodes: { ...runExitCodes, 0: 'the step is replaced, or the thread has ended with that' },
  async run({ args, options, cli, out }) {
    const word = await readPrompt(cli, options, {
      question: 'What do you have to say about the last step?',
      missing: 'nothing is said about the last step',
    });
    const repository = await openToWrite(cli);
    const view = out.isJson ? undefined : createRunView(cli, out);
    const engine = await openEngine(cli, repository, view);
    try {
      const outcome = await engine.poke(args.thread, word, wantedAgent(options.agent));
      await printStep(out, outcome);
      if (outcome.over === undefined) return undefined;
      await view?.close();
      if (!out.isJson) await showOver({ cli, out }, repository, outcome.over);
      return exitCodeOfRun(outcome.over);
    } finally {
      await view?.close();
    }
  },
});
