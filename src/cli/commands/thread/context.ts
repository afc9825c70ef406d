import { type Command, defaultThreadArgument, defineCommand } from '../../command-line/command.ts';
import { openEngine } from '../../open/open-engine.ts';
import { openForReading } from '../../open/open-repository.ts';
import { harmless } from '../../output/text.ts';
import { UsageError } from '../../errors/exit-code.ts';

export const threadContextCommand: Command = defineCommand({
  description: `Prints the exact prompt of the thread's next agent, and its size on stderr. Nothing is run or stored.
'context.maxCharacters' in the configuration limits how much of earlier replies a prompt has.`,
  arguments: [defaultThreadArgument],
  options: {
    role: { value: '<role>', summary: 'print the prompt of this role, whichever role is next' },
  },
  json: {
    thread: 'its id',
    role: 'who would be told',
    agent: 'the agent that does the role here, or null',
    text: 'what it would be told',
    characters: 'how long that is',
  },
  examples: [
    { command: 'uwf thread context 01KAM4', comment: 'for the role whose turn it is' },
    { command: 'uwf thread context 01KAM4 --role reviewer', comment: 'for another' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForReading(cli);
    const engine = await openEngine(cli, repository);
    const thread = args.thread ?? cli.env['UWF_THREAD'];
    if (!thread) throw new UsageError("it needs a thread: name one, or set UWF_THREAD as it is for an agent's turn");
    const preview = await engine.context(thread, options.role);
    await out.result(preview, () => harmless(preview.text));
    out.hint(`${preview.characters} characters for role '${preview.role}'`);
  },
});
