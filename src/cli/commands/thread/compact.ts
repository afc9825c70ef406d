import { defineCommand, type Command } from '../../command-line/command.ts';
import { promptOptions, textFrom } from '../../command-line/read-text.ts';
import { agentOption, threadArgument } from '../../command-line/shared-arguments.ts';
import { UsageError } from '../../errors/usage-error.ts';
import { viewOfText, withEngine } from '../../follow/follow-run.ts';
import { openForWriting } from '../../open/open-repository.ts';

export const threadCompactCommand: Command = defineCommand({
  description: `Has an agent summarise a thread, or takes the summary from a file. It is stored with the next step. From
then on prompts have the summary instead of the earlier steps. Nothing is lost: rules, log and verify still see every step.

context.compactAtCharacters in the configuration does this automatically when a prompt reaches that size; context.compactor
names the agent for it.`,
  arguments: [threadArgument],
  options: {
    agent: { ...agentOption, summary: "let this agent of the configuration sum up, and not the last role's" },
    file: { ...promptOptions.file, summary: "take the summary from a file; '-' is stdin", conflicts: ['agent'] },
  },
  json: {
    thread: 'the thread',
    compact: 'the hash of the summary',
    steps: 'how many steps it stands for',
    characters: 'how long it is',
    agent: 'who summed up; null for a file',
  },
  examples: [
    { command: 'uwf thread compact 01KAM4', comment: 'by the agent of the last role' },
    { command: 'uwf thread compact 01KAM4 --file summary.md', comment: 'in your own words' },
  ],
  async run({ args, options, cli, out }) {
    const text = await textFrom(cli, { text: undefined, file: options.file });
    if (text?.trim() === '')
      throw new UsageError('the summary is empty', 'agents would be told nothing of what was done');
    const repository = await openForWriting(cli);
    const compacted = await withEngine(cli, repository, viewOfText({ cli, out }), (engine) =>
      engine.compact(args.thread, { agent: options.agent, text }),
    );
    await out.result(compacted, () => compacted.compact);
    out.hint(`'uwf thread context ${compacted.thread}' prints the prompt of the next agent`);
  },
});
