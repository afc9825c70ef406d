import { agentOption, wantedAgent } from '../../agent-option.ts';
import { defineCommand, type Command } from '../../command.ts';
import { openEngine } from '../../engine-here.ts';
import { atOption } from '../../find-place.ts';
import { findStep } from '../../find-step.ts';
import { readPrompt } from '../../input/read-prompt.ts';
import { promptOptions } from '../../input/read-text.ts';
import { openToRead } from '../../open-repository.ts';
import { harmless } from '../../output/width.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { ThreadNotFound } from '../../../thread/thread-errors.ts';
import type { Repository } from '../../../git/repository.ts';

export const command: Command = defineCommand({
  summary: "put a question to a step's agent",
  description: `Asks the agent of a step about it, and prints the answer: in its session where this machine has that, else told what
it was told and what it replied. The thread is left as it is, and nothing is stored.`,
  arguments: [
    {
      name: 'thread',
      summary: "the thread's id, or the hash of a step; either's first characters",
      candidates: 'thread',
    },
  ],
  options: {
    prompt: { ...promptOptions.prompt, summary: "the question; '-' reads it from stdin" },
    file: { ...promptOptions.file, summary: "read the question from a file; '-' is stdin" },
    at: { ...atOption, summary: 'ask about this step: its number, or its hash; default: the last' },
    agent: { ...agentOption, summary: 'ask this agent of the configuration' },
  },
  json: {
    shape: 'object',
    fields: {
      thread: 'the thread',
      role: 'who did the step',
      step: "the step's hash",
      agent: 'who answered',
      isSession: 'whether it remembered the step, or was told of it',
      text: 'the answer',
    },
  },
  examples: [
    { command: "uwf thread ask 01KAM4 -p 'Why not a map?'", comment: 'about the last step' },
    { command: "uwf thread ask 01KAM4 --at 2 -p 'What did you leave out?'", comment: 'about another' },
  ],
  async run({ args, options, cli, out }) {
    const question = await readPrompt(cli, options, {
      question: 'What do you want to know?',
      missing: 'nothing is asked',
    });
    const repository = await openToRead(cli);
    const isOfThread = options.at !== undefined || (await isThread(repository, args.thread));
    const target = isOfThread
      ? { thread: args.thread, step: options.at && (await findStep(cli, repository, options.at, args.thread)) }
      : await findStep(cli, repository, args.thread, undefined).then((step) => ({ thread: step.thread.id, step }));
    const answer = await (
      await openEngine(cli, repository)
    ).ask(target.thread, question, {
      ...(target.step && { step: target.step.entry.commit.node.number }),
      ...wantedAgent(options.agent),
    });
    await out.result(answer, () => harmless(answer.text));
  },
});

async function isThread(repository: Repository, text: string): Promise<boolean> {
  try {
    await getThread(repository, text);
    return true;
  } catch (error) {
    if (error instanceof ThreadNotFound) return false;
    throw error;
  }
}
