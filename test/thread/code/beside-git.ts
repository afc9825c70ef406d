import { expect } from 'vitest';
import { openRepository } from '../../../src/git/open-repository.ts';
import { branchThread, type MergeReport, mergeThread } from '../../../src/thread/code/merge-thread.ts';
import { findCode } from '../../../src/thread/code/thread-code.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { prepareHashing } from '../../../src/cas/hash.ts';
import type { MergeMode } from '../../../src/git/worktree/merge-folder.ts';
import { isolatedGitEnvironment, type TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { threadWithCode } from './code-thread.ts';
import { copyOf, generateHistory, tryGit } from './generated-history.ts';

const env = isolatedGitEnvironment;

/** How the merges of one history ended. */
export type Outcomes = Readonly<Record<MergeMode, MergeReport['outcome']>>;

/** Merges the code of a thread in a generated history, in each way, beside git in a copy of the repository. */
export async function mergeBesideGit(seed: number): Promise<Outcomes> {
  await prepareHashing();
  const history = generateHistory(seed);
  const opened = await openRepository(history.repository.dir, { env });
  const { id } = await threadWithCode(opened, history);
  await branchThread(opened, await findCode(opened, await getThread(opened, id)), 'tip', { env });
  await opened.close();
  const tip = history.repository.git('rev-parse', 'tip');
  expect(history.repository.git('rev-parse', 'tip^{tree}')).toBe(history.tree);

  const merge = async (mode: MergeMode): Promise<MergeReport['outcome']> => {
    const [ours, gits] = [copyOf(history.repository), copyOf(history.repository)];
    const before = stateOf(ours);
    const isMerged = mergeByGit(gits, mode, tip);
    const { outcome, files } = await mergeHere(ours, id, mode);
    const where = `seed ${seed}, ${mode}`;
    expect(outcome !== 'conflict', where).toBe(isMerged);
    if (outcome !== 'conflict' || mode === 'merge') {
      expect(contentOf(ours), where).toEqual(contentOf(gits));
    } else {
      expect(stateOf(ours), where).toEqual(before);
    }
    if (!isMerged) expect([...files].toSorted(), where).toEqual(unmerged(gits));
    return outcome;
  };
  return { merge: await merge('merge'), squash: await merge('squash'), rebase: await merge('rebase') };
}

async function mergeHere({ dir }: TemporaryRepository, id: string, mode: MergeMode): Promise<MergeReport> {
  const repository = await openRepository(dir, { env });
  try {
    return await mergeThread(repository, await findCode(repository, await getThread(repository, id)), { env, mode });
  } finally {
    await repository.close();
  }
}

/** @returns whether there was no conflict */
function mergeByGit({ dir, git }: TemporaryRepository, mode: MergeMode, tip: string): boolean {
  if (mode === 'merge') return tryGit(dir, 'merge', '--no-edit', tip).code === 0;
  if (mode === 'squash') {
    if (tryGit(dir, 'merge', '--squash', '--ff', tip).code !== 0) return false;
    if (tryGit(dir, 'diff', '--cached', '--quiet').code !== 0) git('commit', '--quiet', '-m', 'squashed');
    return true;
  }
  git('branch', 'before');
  git('checkout', '--quiet', '--detach', tip);
  if (tryGit(dir, 'rebase', 'before').code !== 0) return false;
  const rebased = git('rev-parse', 'HEAD');
  git('checkout', '--quiet', 'main');
  git('merge', '--quiet', '--ff-only', rebased);
  return true;
}

/** What a merge left: trees and subjects of commits, files of the work tree, and conflicts with their stages. */
function contentOf({ git }: TemporaryRepository): Record<string, string> {
  return {
    commits: git('log', '--format=%T', '--topo-order', 'main', '--not', 'tip'),
    tree: git('rev-parse', 'main^{tree}'),
    index: git('ls-files', '--stage'),
    status: git('status', '--porcelain', '--ignored'),
    files: git('diff'),
    skipped: git('ls-files', '-t'),
  };
}

/** All that a refusal must leave as it was. */
export function stateOf({ git }: Pick<TemporaryRepository, 'git'>): Record<string, string> {
  return {
    head: git('worktree', 'list', '--porcelain'),
    refs: git('for-each-ref'),
    reflog: git('log', '--walk-reflogs', '--format=%gd %gs %H', '--all'),
    index: git('ls-files', '--stage', '-t', '-f'),
    status: git('status', '--porcelain=v2', '--ignored'),
    files: git('diff'),
    objects: git('count-objects', '-v'),
  };
}

function unmerged({ git }: TemporaryRepository): string[] {
  return [...new Set(git('diff', '--name-only', '--diff-filter=U', '-z').split('\0'))].filter(Boolean).toSorted();
}
