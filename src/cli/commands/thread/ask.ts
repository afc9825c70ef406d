import { agentOption, threadArgument } from '../../command-line/shared-arguments.ts';
import { defineCommand, type Command } from '../../command-line/command.ts';
import { openEngine } from '../../open/open-engine.ts';
import { atOption, findStep } from '../../find/find-turn.ts';
import { promptOptions, promptFrom } from '../../command-line/read-text.ts';
import { openForReading } from '../../open/open-repository.ts';
import { harmless } from '../../output/width.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { ThreadNotFound } from '../../../thread/thread-errors.ts';
import { inPlaceOf } from '../../../or-else.ts';

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
