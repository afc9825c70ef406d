import { agentOption, wantedAgent } from '../../agent-option.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { promptOptions, readText } from '../../input/read-text.ts';
import { openToWrite } from '../../open-repository.ts';
import { createRunView } from '../../output/run-view.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'sum up what was said, for the agents that go on',
  description: `Has an agent sum up all that was said in a thread, or takes the summary from a file. The next step carries it, and from
then on agents are told the summary instead of the steps before it. Nothing is lost: rules, log and verify see every step.

context.compactAtCharacters in the configuration does the same by itself whenever a turn would be told so much;
context.compactor names the agent that sums up.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    agent: { ...agentOption, summary: "let this agent of the configuration sum up, and not the last role's" },
    file: { ...promptOptions.file, summary: "take the summary from a file; '-' is stdin" },
  },
  json: {
    shape: 'object',
    fields: {
      thread: 'the thread',
      compact: 'the hash of the summary',
      steps: 'how many steps it stands for',
      characters: 'how long it is',
      agent: 'who summed up; null for a file',
    },
  },
  examples: [
    { command: 'uwf thread compact 01KAM4', comment: 'by the agent of the last role' },
    { command: 'uwf thread compact 01KAM4 --file summary.md', comment: 'in your own words' },
  ],
  async run({ args, options, cli, out }) {
    if (options.file !== undefined && options.agent !== undefined) {
      throw new UsageError('--file and --agent cannot be given together', 'a summary from a file needs no agent');
    }
    const text = await readText(cli, { text: undefined, file: options.file });
    if (text?.trim() === '')
      throw new UsageError('the summary is empty', 'agents would be told nothing of what was done');
    const repository = await openToWrite(cli);
    const view = out.isJson ? undefined : createRunView(cli, out);
    const engine = await openEngine(cli, repository, view);
    const given = { ...wantedAgent(options.agent), ...(text !== undefined && { text }) };
    try {
      const compacted = await engine.compact(args.thread, given);
      await view?.close();
      await out.result(compacted, () => compacted.compact);
      out.hint(`'uwf thread context ${compacted.thread}' prints what the next agent is told`);
    } finally {
      await view?.close();
    }
  },
});
