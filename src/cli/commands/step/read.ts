import { defineCommand, type Command } from '../../command.ts';
import { findStep, ofThreadOption } from '../../find-step.ts';
import { openToRead } from '../../open-repository.ts';
import { harmless } from '../../output/width.ts';
import { readTextAt } from '../../../thread/thread-commit.ts';

export const command: Command = defineCommand({
  summary: 'print what an agent said, or was told',
  description: `Prints the text of a step's reply and nothing else. In a pipe it comes out as it was stored, byte for byte.`,
  arguments: [{ name: 'step', summary: "the step's hash or its first characters; with --thread also its number" }],
  options: {
    thread: ofThreadOption,
    prompt: { summary: 'print all that the agent was told instead' },
  },
  json: { shape: 'object', fields: { step: "the step's hash", text: 'what was said, or told' } },
  examples: [
    { command: 'uwf step read 3F2V0', comment: 'the reply' },
    { command: 'uwf step read 1 --thread 01KAM4 --prompt', comment: 'the prompt of the first step' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const { entry } = await findStep(cli, repository, args.step, options.thread);
    const text = options.prompt ? await readTextAt(repository, entry.commit, 'prompt.md') : entry.text;
    if (!out.isJson && cli.stdout.isTTY !== true) cli.stdout.write(text);
    else await out.result({ step: entry.commit.hash, text }, () => harmless(text));
  },
});
