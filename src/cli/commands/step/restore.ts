import { defineCommand, type Command } from '../../command.ts';
import { findStep, ofThreadOption } from '../../find-step.ts';
import { openToWrite } from '../../open-repository.ts';
import { agreeToGit } from '../../trust/agree-to-git.ts';
import { restoreHere, worktreeOption } from '../../restore-here.ts';
import { readThread } from '../../../thread/thread-state.ts';
import { UsageError } from '../../usage-error.ts';

export const command: Command = defineCommand({
  summary: 'give back the files that a step left',
  description: `Makes a linked work tree (git worktree) with exactly the files that were in the work tree when the step was done, tracked and
untracked. HEAD is detached at the commit that was checked out then, and what differs from it is staged. Your own work tree,
its index, HEAD and stash stay as they are.

Steps record their files where the role or the configuration says 'snapshot: on' or 'changed'.`,
  arguments: [{ name: 'step', summary: 'its hash, or with --thread its number', candidates: 'step' }],
  options: { thread: ofThreadOption, worktree: worktreeOption },
  json: {
    shape: 'object',
    fields: {
      step: "the step's hash",
      folder: 'where the files are',
      isWhole: 'false where the step could not record its files: some, or all and these are those of the commit',
      missing: 'what is not there as it was: count, and the first files with path and reason; absent if nothing',
      filters: 'required filters, if one failed: files that need them are as git stores them; absent if none did',
      submodules: 'folders of submodules, which are empty',
    },
  },
  examples: [
    { command: 'uwf step restore 3 --thread 01KAM4 --worktree ../as-of-step-3', comment: 'look at what it did' },
    { command: 'git worktree remove --force ../as-of-step-3', comment: 'and away with it' },
  ],
  async run({ args, options, cli, out }) {
    if (options.worktree === undefined) {
      throw new UsageError("'uwf step restore' needs a folder", 'name one that does not exist yet with --worktree');
    }
    const repository = await openToWrite(cli);
    const { thread, entry } = await findStep(cli, repository, args.step, options.thread);
    const state = await readThread(repository, thread.id, thread.head);
    await agreeToGit(cli, repository, 'files');
    const restored = await restoreHere(cli, out, repository, state, entry, options.worktree);
    await out.result({ step: entry.commit.hash, ...restored }, () => restored.folder);
  },
});
