import { inPlaceOf } from '../../../or-else.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { ThreadNotFound } from '../../../thread/thread-errors.ts';
import { agentOption, type Command, defineCommand, threadArgument } from '../../command-line/command.ts';
import { promptFrom, promptOptions, textFrom } from '../../command-line/read-text.ts';
import { UsageError } from '../../errors/exit-code.ts';
import { atOption, findStep } from '../../find/find-turn.ts';
import { viewOfText, withEngine } from '../../follow/follow-run.ts';
import { openEngine } from '../../open/open-engine.ts';
import { openForReading, openForWriting } from '../../open/open-repository.ts';
import { harmless } from '../../output/text.ts';

export const threadAskCommand: Command = defineCommand({
  description: `Asks the agent of a step a question and prints the answer. The agent goes on with its session if this
machine has it; else it is given the step's prompt and reply. The thread does not change, and nothing is stored.`,
  arguments: [{ ...threadArgument, summary: "the thread's id, or the hash of a step; either's first characters" }],
  options: {
    prompt: { ...promptOptions.prompt, summary: "the question; '-' reads it from stdin" },
    file: { ...promptOptions.file, summary: "read the question from a file; '-' is stdin" },
    at: { ...atOption, summary: 'ask about this step: its number, or its hash; default: the last' },
    agent: { ...agentOption, summary: 'ask this agent of the configuration' },
  },
  json: {
    thread: 'the thread',
    role: 'who did the step',
    step: "the step's hash",
    agent: 'who answered',
    isSession: 'true if it continued the session of the step; false if it was given the prompt and the reply',
    text: 'the answer',
  },
  examples: [
    { command: "uwf thread ask 01KAM4 -p 'Why not a map?'", comment: 'about the last step' },
    { command: "uwf thread ask 01KAM4 --at 2 -p 'What did you leave out?'", comment: 'about another' },
  ],
  async run({ args, options, cli, out }) {
    const question = await promptFrom(cli, options, {
      question: 'What do you want to know?',
      missing: 'nothing is asked',
    });
    const repository = await openForReading(cli);
    const thread = await getThread(repository, args.thread).catch(inPlaceOf(ThreadNotFound, undefined));
    const isOfThread = options.at !== undefined || thread !== undefined;
    const target = isOfThread
      ? { thread: args.thread, step: options.at && (await findStep(cli, repository, options.at, args.thread)) }
      : await findStep(cli, repository, args.thread, undefined).then((step) => ({ thread: step.thread.id, step }));
    const engine = await openEngine(cli, repository);
    const step = target.step ? target.step.commit.node.number : undefined;
    const answer = await engine.ask(target.thread, question, { step, agent: options.agent });
    await out.result(answer, () => harmless(answer.text));
  },
});

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
