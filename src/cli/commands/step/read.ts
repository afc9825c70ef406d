import { defineCommand, type Command } from '../../command-line/command.ts';
import { findTurn, ofThreadOption, turnArgument } from '../../find/find-turn.ts';
import { openForReading } from '../../open/open-repository.ts';
import { harmless } from '../../output/width.ts';
import { readTextAt } from '../../../thread/thread-commit.ts';

export const stepReadCommand: Command = defineCommand({
  description: `Prints the text of a step's reply, or of a suspended turn, and nothing else. In a pipe it prints the stored
bytes.`,
  arguments: [turnArgument],
  options: {
    thread: ofThreadOption,
    prompt: { summary: 'print all that the agent was told instead' },
  },
  json: { step: "the step's hash, or the suspension's", text: 'what was said, or told' },
  examples: [
    { command: 'uwf step read 3F2V0', comment: 'the reply' },
    { command: 'uwf step read 1 --thread 01KAM4 --prompt', comment: 'the prompt of the first step' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const { commit } = await findTurn(cli, repository, args.step, options.thread);
    const hasText = options.prompt || commit.node.content !== null;
    const text = hasText ? await readTextAt(repository, commit, options.prompt ? 'prompt.md' : 'output.md') : '';
    if (!out.isJson && cli.stdout.isTTY !== true) cli.stdout.write(text);
    else await out.result({ step: commit.hash, text }, () => harmless(text));
    if (!hasText) out.hint(`the agent said nothing; 'uwf step show ${commit.hash}' shows why the turn was suspended`);
  },
});
