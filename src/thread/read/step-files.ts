import { UwfError } from '../../errors.ts';
import { diffTrees, diffTreesWithIds, type FileChange, type FileContents } from '../../git/worktree/diff-trees.ts';
import { restoreWorkTree, type RestoredWorkTree } from '../../git/worktree/restore-work-tree.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../../git/repository.ts';
import { readChain } from './read-chain.ts';
import { CorruptThread } from '../thread-errors.ts';
import { findRecordedFiles } from './recorded-files.ts';
import type { CommitOf } from './thread-state.ts';

type Step = CommitOf<'step'>;

/** A step did not record the files it left. */
export function noSnapshot(step: Step, earlier: Step | undefined): UwfError {
  const { number } = step.node;
  return new UwfError(`step ${number} (${step.hash}) did not record the files it left`, {
    code: 'no-snapshot',
    kind: 'data',
    hint:
      earlier === undefined
        ? "a role with 'snapshot: on', or 'snapshot: { mode: on }' in .uwf/config.yaml, makes steps record them"
        : `the newest record before it is that of step ${earlier.node.number} (${earlier.hash}); it is the same unless recording was off in between`,
    facts: { number },
  });
}

/** The files that a step left, as its commit records them. */
export type StepFiles = {
  tree: ObjectId;
  /** The commit that was checked out; absent on an unborn branch. */
  commit: ObjectId | undefined;
  /** The commits that were being merged into it. */
  merging: readonly ObjectId[];
  /** False if files could not be recorded: those in `missing`, or all of them; then the tree is that of `commit`. */
  isWhole: boolean;
  missing: NonNullable<Step['node']['workspace']>['missing'];
};

/**
 * Finds the files that a step recorded; `undefined` if it recorded none.
 *
 * @throws {CorruptThread} if its node names another tree than its commit has
 */
export async function filesOfStep(repository: Repository, step: Step): Promise<StepFiles | undefined> {
  const recorded = await findRecordedFiles(repository.objects, step);
  if (recorded === undefined) return undefined;
  const { isSnapshot, tree, checkedOut, merging } = recorded;
  const { workspace } = step.node;
  if (workspace?.tree !== tree) {
    throw new CorruptThread(step.id, 'the tree of its snapshot is not the tree that its node names');
  }
  const { missing } = workspace;
  return { tree, commit: checkedOut, merging, isWhole: isSnapshot && missing === undefined, missing };
}

/** A linked work tree, and whether it has all files that the step left. */
export type RestoredStep = RestoredWorkTree & Pick<StepFiles, 'isWhole' | 'missing'>;

/**
 * Makes a linked work tree with exactly the files that a step left; `HEAD` is detached where the step's was.
 *
 * @throws {UwfError} `no-snapshot` if the step recorded nothing
 * @throws {UwfError} `folder-in-use` {GitFailed} {GitNotFound} as `restoreWorkTree`
 */
export async function restoreStep(
  repository: Repository,
  env: GitEnvironment,
  step: Step,
  folder: string,
): Promise<RestoredStep> {
  const location = locationOf(repository);
  const files = await filesOfStep(repository, step);
  if (files === undefined) throw noSnapshot(step, await findRecordedBefore(repository, step));
  const { tree, commit, merging, isWhole, missing } = files;
  // git creates a work tree only from a commit. If the step had none, the branch is made unborn afterwards.
  const content =
    commit === undefined ? { tree, commit: step.id, unbornBranch: `uwf/${step.hash}` } : { tree, commit, merging };
  return { ...(await restoreWorkTree({ location, env }, content, folder)), isWhole, missing };
}

/** The newest step of a thread that recorded its files. @param last the thread's newest step, if it has one */
export async function findNewestRecorded(repository: Repository, last: Step | undefined): Promise<Step | undefined> {
  return last === undefined || last.node.workspace !== undefined ? last : findRecordedBefore(repository, last);
}

/** The newest step before another that recorded its files. */
export async function findRecordedBefore(repository: Repository, step: Step): Promise<Step | undefined> {
  for await (const commit of readChain(repository, step.id)) {
    if (commit.kind === 'step' && commit.id !== step.id && commit.node.workspace !== undefined) return commit;
  }
  return undefined;
}

/**
 * Lists how the files that one step left differ from those of another; `undefined` if one of them recorded none.
 *
 * @throws {GitFailed} {GitNotFound} if git cannot compare them
 */
export async function diffSnapshots(
  repository: Repository,
  env: GitEnvironment,
  from: Step,
  to: Step,
): Promise<FileChange[] | undefined> {
  const [before, after] = [await filesOfStep(repository, from), await filesOfStep(repository, to)];
  if (before === undefined || after === undefined) return undefined;
  const git = { location: locationOf(repository), env };
  return diffTrees(git, before.tree, after.tree);
}

/**
 * Lists how the files that a step left differ from those of a tree, with where their contents are; `undefined` if the step
 * recorded none.
 *
 * @throws {GitFailed} {GitNotFound} if git cannot compare them
 */
export async function diffContents(
  repository: Repository,
  env: GitEnvironment,
  from: ObjectId,
  to: Step,
): Promise<FileContents[] | undefined> {
  const after = await filesOfStep(repository, to);
  if (after === undefined) return undefined;
  const git = { location: locationOf(repository), env };
  return diffTreesWithIds(git, from, after.tree);
}

function locationOf({ location }: Repository): RepositoryLocation {
  if (location === undefined) {
    throw new UwfError('the repository is not on a disk', { code: 'no-place-for-files', kind: 'usage' });
  }
  return location;
}
