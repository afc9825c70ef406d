import { type Command, defineCommand, threadArgument, worktreeOption } from '../../command-line/command.ts';
import { atOption, findPlace } from '../../find/find-turn.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { UsageError } from '../../errors/exit-code.ts';
import { hintToResume } from '../../../thread/thread-state.ts';
import { forkThread } from '../../../thread/thread-verbs.ts';
import { getThread } from '../../../thread/find-thread.ts';
import { readThreadCommit, type ThreadCommit } from '../../../thread/thread-commit.ts';
import { activeRef, type ThreadId } from '../../../thread/thread-id.ts';
import { readSteps } from '../../../thread/thread-chain.ts';
import { restoreHere } from '../../threads/restore-files.ts';
import { agreeToGit } from '../../trust/agree-to-git.ts';

export const threadForkCommand: Command = defineCommand({
  description: `Makes a new thread that shares the steps of another up to a point and goes on independently. Nothing is
copied: a fork is one ref. Without --at the point is the thread's head, or the last step of a thread that has ended. With
--worktree the fork gets a linked work tree with exactly the files that the step left; run it there with 'uwf -C <folder>
thread run'.`,
  arguments: [threadArgument],
  options: {
    at: { ...atOption, summary: 'fork behind this step: its number, or its hash; 0 is the start' },
    worktree: worktreeOption,
  },
  json: {
    thread: "the fork's id",
    head: 'the commit where it goes on',
    forkedFrom: 'the thread that it shares its beginning with',
    worktree: 'with --worktree: the folder, whether it is what the step left (isWhole), and empty submodules',
  },
  examples: [
    { command: 'uwf thread fork 01KAM4', comment: 'try something else from here' },
    { command: 'uwf thread fork 01KAM4 --at 3', comment: 'keep three steps' },
    { command: 'uwf thread fork 01KAM4 --at 3 --worktree ../other', comment: 'and the files they left' },
  ],
  async run({ args, options, cli, out }) {
    const repository = await openForWriting(cli);
    const pointer = await getThread(repository, args.thread);
    const at = options.at === undefined ? undefined : await findPlace(repository, pointer, options.at);
    if (options.worktree !== undefined) {
      await agreeToGit(cli, repository, 'files');
    }
    const fork = await forkThread(repository, pointer, at);
    if (options.worktree !== undefined) {
      try {
        const step = (await readSteps(repository, fork.head, 1)).steps.at(-1);
        if (!step) throw new UsageError('no step has left any files yet', 'fork behind a step, or without --worktree');
        const worktree = await restoreHere(cli, out, repository, step.commit, options.worktree);
        await out.result({ ...fork, worktree }, () => fork.thread);
        out.hint(`'uwf -C ${options.worktree} thread run ${fork.thread}' runs it there`);
      } catch (error) {
        // No other process knows the fork yet.
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
