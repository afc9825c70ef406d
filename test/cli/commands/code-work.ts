import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeLease } from '../../../src/engine/leases/lease.ts';
import { leasePath } from '../../../src/engine/leases/find-lease.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { endThread, suspendThread } from '../../../src/thread/thread-verbs.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { createCliRepository, type CliRepository } from '../../helpers/cli.ts';
import { createTemporaryFolder, runGit, type TemporaryRepositoryOptions } from '../../helpers/temporary-repository.ts';
import { threadWithCode } from '../../thread/code/code-thread.ts';
import { suspensionDraft } from '../../thread/thread-fixture.ts';

/** How a thread stands: its status, or the return code of one that failed with another code than 1. */
export type Standing = 'ended' | 'code 3' | 'failed' | 'cancelled' | 'suspended' | 'idle' | 'running' | 'interrupted';

export type Work = {
  repository: CliRepository;
  base: string;
  /** The work tree of what a thread does. */
  there: string;
  /** Commits files there, on what was committed there before. */
  commit(files: Record<string, string>, message?: string): string;
  /** Makes a thread that left files beside the last commit there; default: one that has ended with return code 0. */
  leave(files?: Record<string, string>, standing?: Standing): Promise<string>;
};

/** A repository with three files, and a work tree for what a thread does. */
export function createWork(files: Record<string, string> = {}, options: TemporaryRepositoryOptions = {}): Work {
  const repository = createCliRepository(
    { 'a.txt': 'one\ntwo\nthree\n', 'src/b.txt': 'b\n', '.gitignore': '*.log\n', ...files },
    options,
  );
  const { git } = repository;
  git('add', '--all');
  git('commit', '-qm', 'base');
  const base = git('rev-parse', 'HEAD');
  const there = join(createTemporaryFolder(), 'there');
  git('worktree', 'add', '-q', '--detach', there);
  const write = (more: Record<string, string>): void => {
    for (const [path, text] of Object.entries(more)) {
      mkdirSync(join(there, path, '..'), { recursive: true });
      writeFileSync(join(there, path), text);
    }
    runGit(there, ['add', '--all', '--force']);
  };
  return {
    repository,
    base,
    there,
    commit(more, message = 'by an agent') {
      write(more);
      runGit(there, ['commit', '-qm', message]);
      return runGit(there, ['rev-parse', 'HEAD']);
    },
    async leave(more = {}, standing = 'ended') {
      write(more);
      const [checkedOut, tree] = [runGit(there, ['rev-parse', 'HEAD']), runGit(there, ['write-tree'])];
      const opened = await repository.open();
      const state = await threadWithCode(opened, { base, checkedOut, tree });
      await bringTo(opened, state, standing);
      await opened.close();
      return state.id;
    },
  };
}

async function bringTo(repository: Repository, state: ThreadState, standing: Standing): Promise<void> {
  if (standing === 'suspended') await suspendThread(repository, state, suspensionDraft({ reason: 'Which\nparser?' }));
  if (standing === 'running' || standing === 'interrupted') await takeLease(repository, state.id);
  if (standing === 'interrupted') {
    const path = leasePath(repository.stateDir ?? '', state.id);
    // A process of this number that started at another time is another process.
    const record = JSON.parse(readFileSync(path, 'utf8')) as { holder: object };
    writeFileSync(path, `${JSON.stringify({ ...record, holder: { ...record.holder, startTime: '1' } })}\n`);
  }
  const ends = {
    ended: { outcome: 'completed', returnCode: 0, summary: 'It parses.' },
    'code 3': { outcome: 'failed', returnCode: 3, summary: 'Rejected.' },
    failed: { outcome: 'failed', returnCode: 1, summary: 'No rule matches.' },
    cancelled: { outcome: 'cancelled', returnCode: 130, summary: 'Enough.' },
  } as const;
  if (standing in ends) await endThread(repository, state, ends[standing as keyof typeof ends]);
}
