import { defineCommand, type Command } from '../../command.ts';
import { atOption, findPlace } from '../../find-place.ts';
import { openToWrite } from '../../open-repository.ts';
import { agreeToGit } from '../../trust/agree-to-git.ts';
import { restoreHere, worktreeOption } from '../../restore-here.ts';
import { UsageError } from '../../usage-error.ts';
import { hintToResume } from '../../../thread/hint-to-go-on.ts';
import { forkThread } from '../../../thread/fork-thread.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { readThreadCommit, type ThreadCommit } from '../../../thread/thread-commit.ts';
import type { ThreadId } from '../../../thread/thread-id.ts';
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
    if (options.worktree !== undefined) await agreeToGit(cli, repository, 'files');
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
    const head = await readThreadCommit(repository, fork.head);
    out.hint(`${hintToGoOn(fork.thread, head)}; 'uwf thread diff ${fork.forkedFrom} ${fork.thread}' compares`);
  },
});

function hintToGoOn(fork: ThreadId, head: ThreadCommit): string {
  if (head.kind !== 'suspend') return `'uwf thread run ${fork}' runs it`;
  // The child that asks is the other thread's, and gets no answer from here.
  if (head.node.cause === 'child')
    return `'uwf thread resume ${fork}' takes that turn again, with child threads of its own`;
  return hintToResume(fork, head.node);
}
