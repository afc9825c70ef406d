import { defineCommand, type Command } from '../../command-line/command.ts';
import { worktreeOption } from '../../command-line/shared-arguments.ts';
import { findStep, ofThreadOption } from '../../find/find-turn.ts';
import { openForWriting } from '../../open/open-repository.ts';
import { agreeToGit } from '../../trust/agree-to-git.ts';
import { restoreHere } from '../../threads/restore-files.ts';
import { UsageError } from '../../errors/usage-error.ts';

export const stepRestoreCommand: Command = defineCommand({
  description: `Makes a linked work tree (git worktree) with exactly the files that were in the work tree when the step was done, tracked and
untracked. HEAD is detached at the commit that was checked out then, and what differs from it is staged. Your own work tree,
its index, HEAD and stash stay as they are.

Steps record their files where the role or the configuration says 'snapshot: on' or 'changed'.`,
  arguments: [{ name: 'step', summary: 'its hash, or with --thread its number', candidates: 'step' }],
  options: { thread: ofThreadOption, worktree: worktreeOption },
  json: {
    step: "the step's hash",
    folder: 'where the files are',
    isWhole: 'false if the step could not record all its files; if none, these are those of its commit',
    missing: 'what is not there as it was: count, and the first files with path and reason; absent if nothing',
    filters: 'required filters, if one failed: files that need them are as git stores them; absent if none did',
    submodules: 'folders of submodules, which are empty',
  },
  examples: [
    { command: 'uwf step restore 3 --thread 01KAM4 --worktree ../as-of-step-3', comment: 'look at what it did' },
    { command: 'git worktree remove --force ../as-of-step-3', comment: 'remove it again' },
  ],
  async run({ args, options, cli, out }) {
    if (options.worktree === undefined) {
      throw new UsageError("'uwf step restore' needs a folder", 'name one that does not exist yet with --worktree');
    }
    const repository = await openForWriting(cli);
    const { commit } = await findStep(cli, repository, args.step, options.thread);
    await agreeToGit(cli, repository, 'files');
    const restored = await restoreHere(cli, out, repository, commit, options.worktree);
    await out.result({ step: commit.hash, ...restored }, () => restored.folder);
  },
});
