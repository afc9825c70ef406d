import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { openToRead } from '../../open-repository.ts';
import { harmless } from '../../output/width.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'print what the next agent would be told',
  description: `Prints the prompt exactly as the next agent of the thread would get it, and its size on stderr. Nothing is run or
stored. How much of earlier replies it may hold is 'context.maxCharacters' in the configuration.`,
  arguments: [
    {
      name: 'thread',
      summary: "the thread's id, or its first characters; by default $UWF_THREAD",
      candidates: 'thread',
      isOptional: true,
    },
  ],
  options: {
    role: { value: '<role>', summary: 'what this role would be told, whichever role is next' },
  },
  json: {
    shape: 'object',
    fields: {
      thread: 'its id',
      role: 'who would be told',
      agent: 'the agent that does the role here, or null',
      text: 'what it would be told',
      characters: 'how long that is',
    },
  },
  examples: [
    { command: 'uwf thread context 01KAM4', comment: 'for the role whose turn it is' },
    { command: 'uwf thread context 01KAM4 --role reviewer', comment: 'for another' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToRead(cli);
    const engine = await openEngine(cli, repository);
    const thread = args.thread ?? cli.env['UWF_THREAD'];
    if (!thread) throw new UsageError("it needs a thread: name one, or set UWF_THREAD as it is for an agent's turn");
    const preview = await engine.context(thread, options.role);
    await out.result(preview, () => harmless(preview.text));
    out.hint(`${preview.characters} characters for role '${preview.role}'`);
  },
});
