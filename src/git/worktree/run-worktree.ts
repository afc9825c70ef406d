import { setTimeout as sleep } from 'node:timers/promises';
import { GitFailed, runGit, type GitRun } from '../process/run-git.ts';

const MAX_TRIES = 100;
const MAX_PAUSE_MS = 20;

/**
 * Runs `git worktree`, again while another process registers or removes a work tree: git reads all registrations, and fails at
 * one whose `commondir` is not written yet.
 *
 * Source: `get_common_dir_noenv` in git's setup.c.
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function runWorktree(run: Omit<GitRun, 'args'>, args: readonly string[]): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await runGit({ ...run, args: ['worktree', ...args] });
      return;
    } catch (error) {
      const isUnwritten = error instanceof GitFailed && /^fatal: failed to read .*commondir/m.test(error.said);
      if (!isUnwritten || tries === MAX_TRIES) throw error;
      await sleep(Math.random() * MAX_PAUSE_MS);
    }
  }
}
