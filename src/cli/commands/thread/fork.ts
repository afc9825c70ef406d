import { defineCommand, type Command } from '../../command.ts';
import { atOption, findPlaceIn } from '../../find-place.ts';
import { openToWrite } from '../../open-repository.ts';
import { forkThread } from '../../../thread/fork-thread.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { readThread } from '../../../thread/thread-state.ts';

export const command: Command = defineCommand({
  summary: 'give a thread a second future',
  description: `Makes a new thread that shares the steps of this one up to a point and goes on from there by itself. Nothing is
copied: a fork is one ref. Without --at it is the point where the thread stands; of a thread that has ended, its last step.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: { at: { ...atOption, summary: 'fork behind this step: its number, or its hash; 0 is the start' } },
  json: {
    shape: 'object',
    fields: {
      thread: "the fork's id",
      head: 'the commit where it goes on',
      forkedFrom: 'the thread that it shares its beginning with',
    },
  },
  examples: [
    { command: 'uwf thread fork 01KAM4', comment: 'try something else from here' },
    { command: 'uwf thread fork 01KAM4 --at 3', comment: 'keep three steps' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const pointer = await getThread(repository, args.thread);
    const at =
      options.at === undefined
        ? undefined
        : findPlaceIn(await readThread(repository, pointer.id, pointer.head), options.at);
    const fork = await forkThread(repository, pointer, at);
    await out.result(fork, () => fork.thread);
    out.hint(`'uwf thread run ${fork.thread}' runs it, 'uwf thread diff ${fork.forkedFrom} ${fork.thread}' compares`);
  },
});
