import { join } from 'node:path';
import { messageOf, UwfError } from '../../errors.ts';
import type { ObjectId } from '../format/object-id.ts';
import { pathAsText } from '../format/quote-path.ts';
import { isRefName } from '../format/ref-name.ts';
import { GitFailed, runGit } from '../process/run-git.ts';
import { readIfThere } from '../repository/git-directory.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import type { RefName } from '../ref-store.ts';
import { readHead } from './snapshot.ts';
import { finishMove } from './unfinished-move.ts';
import { findOperation } from './unfinished-operation.ts';

/** The work tree that a merge goes into, as it was before. */
export type MergeTarget = {
  location: RepositoryLocation & { workTree: string };
  /** The branch that is checked out; `undefined` for a detached `HEAD`. */
  branch: RefName | undefined;
  head: ObjectId;
};

/** `HEAD`, or the branch that is checked out, is not where the merge began. */
export class TargetMoved extends UwfError {
  constructor({ branch, head }: Pick<MergeTarget, 'branch' | 'head'>) {
    super(`${branch ?? 'HEAD'} is not at ${head} any more: it moved during the merge, and nothing was changed`, {
      code: 'target-moved',
      kind: 'conflict',
      hint: 'look at the branch and repeat',
      facts: { branch, head },
    });
  }
}

/**
 * Reads what is checked out in a work tree that something is to be merged into, after finishing a merge whose process was killed.
 *
 * @throws {UwfError} `no-work-tree` in a bare repository, `unborn-branch` if the branch has no commit, `operation-in-progress`
 *   if a merge or a rebase is not finished, `dirty-work-tree` if tracked files or the index differ from `HEAD`
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function readMergeTarget(repository: Repository, env: GitEnvironment): Promise<MergeTarget> {
  const { location } = repository;
  const workTree = location?.workTree;
  if (location === undefined || workTree === undefined) {
    throw new UwfError('this repository has no work tree, so there is nothing to merge into', {
      code: 'no-work-tree',
      kind: 'usage',
      hint: "name a work tree with -C; '--branch <name>' only makes a branch",
    });
  }
  const operation = findOperation(location)?.name;
  if (operation !== undefined) {
    throw new UwfError(`a ${operation} is not finished in ${workTree}`, {
      code: 'operation-in-progress',
      kind: 'data',
      hint: `git goes on with 'git ${operation} --continue', or back with 'git ${operation} --abort'`,
      facts: { operation },
    });
  }
  const branch = branchAt(location);
  const before = await readHead(repository, location);
  if (before !== undefined) await finishMove({ location, env }, before);
  const head = await readHead(repository, location);
  if (head === undefined) {
    throw new UwfError(`${branch ?? 'HEAD'} has no commit yet, so there is nothing to merge into`, {
      code: 'unborn-branch',
      kind: 'data',
      hint: "check out a branch with commits, or make one of the thread's code with '--branch <name>'",
    });
  }
  const target = { location: { ...location, workTree }, branch, head };
  const changed = await findTrackedChanges(target, env);
  if (changed.length > 0) throw dirtyWorkTree(workTree, changed);
  return target;
}

/** @throws {TargetMoved} if `HEAD` names another branch, or the branch another commit */
export async function assertUnmoved(repository: Repository, target: MergeTarget): Promise<void> {
  const { location, branch, head } = target;
  if (branchAt(location) !== branch || (await readHead(repository, location)) !== head) throw new TargetMoved(target);
}

function dirtyWorkTree(workTree: string, changed: readonly string[]): UwfError {
  const [first = ''] = changed;
  const others = changed.length > 1 ? ` and ${changed.length - 1} more` : '';
  return new UwfError(`${workTree} has changes that are not committed: ${first}${others}`, {
    code: 'dirty-work-tree',
    kind: 'data',
    hint: "commit them, or put them away with 'git stash'; nothing was changed",
    facts: { paths: changed },
  });
}

function branchAt({ gitDir }: RepositoryLocation): RefName | undefined {
  const name = /^ref:\s*(.*)$/m.exec(readIfThere(join(gitDir, 'HEAD')) ?? '')?.[1];
  return name !== undefined && isRefName(name) ? name : undefined;
}

/**
 * Lists tracked files and index entries that differ from `HEAD`. The checked-out commit of a submodule does not count: git
 * leaves it where it is when a merge changes it.
 *
 * Source: git-status(1), "Porcelain Format Version 2".
 */
async function findTrackedChanges({ location }: MergeTarget, env: GitEnvironment): Promise<string[]> {
  const args = ['status', '--porcelain=v2', '-z', '--untracked-files=no', '--ignore-submodules=dirty', '--no-renames'];
  const lines = (await runGit({ location, env, args })).toString('latin1').split('\0');
  return lines.flatMap((line) => {
    const [kind, state, submodule, ...rest] = line.split(' ');
    if (kind !== '1' && kind !== 'u') return [];
    if (kind === '1' && state?.startsWith('.') && submodule?.startsWith('S')) return [];
    // Five fields follow in a line of kind 1, and seven in one of kind u.
    return [pathAsText(rest.slice(kind === '1' ? 5 : 7).join(' '))];
  });
}

/** git's own words, as the reason why nothing was changed. */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof GitFailed)) return error;
  // Its hints are about a folder that the user does not see.
  const said = error.said.replaceAll(/^hint:.*\n/gm, '').trim();
  return new UwfError(`git does not merge it: ${said || messageOf(error)}`, {
    code: 'merge-refused',
    kind: 'data',
    hint: 'nothing was changed; put right what git names and repeat',
    cause: error,
  });
}
