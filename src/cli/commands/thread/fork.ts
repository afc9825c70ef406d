import { defineCommand, type Command } from '../../command.ts';
import { atOption, findPlace } from '../../find-place.ts';
import { openToWrite } from '../../open-repository.ts';
import { restoreHere, worktreeOption } from '../../restore-here.ts';
import { UsageError } from '../../usage-error.ts';
import { forkThread } from '../../../thread/fork-thread.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { readThreadCommit } from '../../../thread/thread-commit.ts';
import { activeRef } from '../../../thread/thread-refs.ts';
import { readThread } from '../../../thread/thread-state.ts';

export const command: Command = defineCommand({
  summary: 'give a thread a second future',
  description: `Makes a new thread that shares the steps of this one up to a point and goes on from there by itself. Nothing is
copied: a fork is one ref. Without --at it is the point where the thread stands; of a thread that has ended, its last step. With --worktree the fork
gets a linked work tree with exactly the files that the step left, for its agents to go on in: 'uwf -C <folder> thread run'.`,
  arguments: [{ name: 'thread', summary: "the thread's id, or its first characters", candidates: 'thread' }],
  options: {
    at: { ...atOption, summary: 'fork behind this step: its number, or its hash; 0 is the start' },
    worktree: worktreeOption,
  },
  json: {
    shape: 'object',
    fields: {
      thread: "the fork's id",
      head: 'the commit where it goes on',
      forkedFrom: 'the thread that it shares its beginning with',
      worktree: 'with --worktree: the folder, whether it is what the step left (isWhole), and empty submodules',
    },
  },
  examples: [
    { command: 'uwf thread fork 01KAM4', comment: 'try something else from here' },
    { command: 'uwf thread fork 01KAM4 --at 3', comment: 'keep three steps' },
    { command: 'uwf thread fork 01KAM4 --at 3 --worktree ../other', comment: 'and the files they left' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openToWrite(cli);
    const pointer = await getThread(repository, args.thread);
    const at = options.at === undefined ? undefined : await findPlace(repository, pointer, options.at);
    const fork = await forkThread(repository, pointer, at);
    if (options.worktree !== undefined) {
      try {
        const state = await readThread(repository, fork.thread, fork.head);
        const step = state.steps.at(-1);
        if (!step) throw new UsageError('no step has left any files yet', 'fork behind a step, or without --worktree');
        const worktree = await restoreHere(cli, out, repository, state, step, options.worktree);
        await out.result({ ...fork, worktree }, () => fork.thread);
        out.hint(`'uwf -C ${options.worktree} thread run ${fork.thread}' runs it there`);
      } catch (error) {
        // Nobody knows of the fork yet.
        await repository.refs.update([{ name: activeRef(fork.thread), expected: fork.head, value: null }]);
        throw error;
      }
      return;
    }
    await out.result(fork, () => fork.thread);
    const isSuspended = (await readThreadCommit(repository, fork.head)).kind === 'suspend';
    const goOn = isSuspended
      ? `'uwf thread resume ${fork.thread} -p <answer>' answers it`
      : `'uwf thread run ${fork.thread}' runs it`;
    out.hint(`${goOn}, 'uwf thread diff ${fork.forkedFrom} ${fork.thread}' compares`);
  },
});
