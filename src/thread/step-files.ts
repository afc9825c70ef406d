import { UwfError } from '../errors.ts';
import {
  type Commit,
  encodeCommit,
  encodeSignature,
  parseCommit,
  type Signature,
  signatureLines,
} from '../git/format/objects.ts';
import { formatOfId, type GitObject, hashObject, type ObjectId } from '../git/format/object-id.ts';
import type { GitEnvironment, Identity, Repository, RepositoryLocation } from '../git/repository.ts';
import { type ObjectReader, readCommitData } from '../git/stores/read.ts';
import { diffTrees, diffTreesWithIds, type FileChange, type FileContents } from '../git/process/revisions.ts';
import { type RestoredWorkTree, restoreWorkTree } from '../git/worktree/own-work-tree.ts';
import type { Snapshot } from '../git/worktree/snapshot.ts';
import type { JsonObject } from '../json.ts';
import { orElse } from '../or-else.ts';
import { readThreadCommit, type ThreadCommit } from './thread-commit.ts';
import { CorruptThread } from './thread-errors.ts';
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
type StepFiles = {
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

/** The newest step up to a commit of a thread that recorded its files. */
export async function findNewestRecorded(
  repository: Repository,
  from: ThreadCommit | undefined,
): Promise<Step | undefined> {
  if (from?.kind === 'step' && from.node.workspace !== undefined) return from;
  return from && findRecordedBefore(repository, from);
}

/**
 * The newest step before a commit of a thread that recorded its files: the commit's totals name it.
 * @throws {CorruptThread} if they name another commit
 */
export async function findRecordedBefore(repository: Repository, commit: ThreadCommit): Promise<Step | undefined> {
  const recorded = commit.kind === 'start' ? null : commit.node.totals.recorded;
  if (recorded === null) return undefined;
  const step = await readThreadCommit(repository, recorded);
  if (step.kind === 'step' && step.node.workspace !== undefined) return step;
  throw new CorruptThread(commit.id, `its totals name ${recorded}, which recorded no files`);
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

/** What reports call the files that a step left: the field of its node. */
export const WORKSPACE = 'workspace';

/** The files that a step recorded. */
export type RecordedFiles = {
  /** False if they could not be recorded: the tree is that of the checked-out commit. */
  isSnapshot: boolean;
  tree: ObjectId;
  /** The commit that was checked out; absent on an unborn branch. */
  checkedOut: ObjectId | undefined;
  /** The commits that were being merged into it. */
  merging: readonly ObjectId[];
};

/** A step's commit, and its node's record of the files. */
type StepOf = {
  commit: Pick<Commit, 'author' | 'committer'>;
  node: { workspace?: { tree: ObjectId; commit: ObjectId } };
};

/**
 * Finds the files that a step left; `undefined` if its node names none.
 *
 * @throws {ObjectMissing} {CorruptObject} if its snapshot cannot be read
 */
export async function findRecordedFiles(objects: ObjectReader, step: StepOf): Promise<RecordedFiles | undefined> {
  const { workspace } = step.node;
  if (workspace === undefined) return undefined;
  const { tree, commit } = workspace;
  const snapshot = await readSnapshot(objects, commit, step.commit);
  if (snapshot === undefined) return { isSnapshot: false, tree, checkedOut: commit, merging: [] };
  const [checkedOut, ...merging] = snapshot.parents;
  return { isSnapshot: true, tree: snapshot.tree, checkedOut, merging };
}

/** A snapshot, and whether its committer line is that of the step, too. */
type SnapshotCommit = Commit & { isOfCommitter: boolean };

/**
 * Reads a commit that a step names, or has as a parent, if it is the step's snapshot: its author line is that of the step.
 *
 * @returns `undefined` if it is another commit
 * @throws {ObjectMissing} {CorruptObject} if it cannot be read
 */
export async function readSnapshot(
  objects: ObjectReader,
  id: ObjectId,
  step: Pick<Commit, 'author' | 'committer'>,
): Promise<SnapshotCommit | undefined> {
  const data = await readCommitData(objects, id);
  const { author, committer } = signatureLines(data);
  if (author === undefined || author !== lineOf(step.author)) return undefined;
  return { ...parseCommit(data, formatOfId(id)), isOfCommitter: committer === lineOf(step.committer) };
}

/** The line that uwf writes; `undefined` for a time that no commit can have. */
function lineOf(signature: Signature): string | undefined {
  return orElse(() => encodeSignature(signature), undefined);
}

/** A step's record of the files that it left. */
type StepRecord = {
  /** `workspace` of its node. */
  workspace: JsonObject;
  /** The last parent of the step. */
  commit: ObjectId;
  /** Objects that have to be written with the step. */
  objects: readonly GitObject[];
};

/**
 * Makes the snapshot of a step: a commit with the files at its root, on the commit that was checked out and on those that were
 * being merged into it, by the author and the committer of the step. If the files could not be recorded, the record is the commit that was checked out.
 *
 * @returns `undefined` if nothing can be recorded: the files are not known, and the commit that was checked out could be
 *   taken for a snapshot of this step
 */
export async function recordFiles(
  repository: Repository,
  { role, completedAtMs }: { role: string; completedAtMs: number },
  { tree, commit: checkedOut, merging = [], missing, shortfall, objects }: Omit<Snapshot, 'packs' | 'release'>,
  { number, author }: { number: number; author: Identity },
): Promise<StepRecord | undefined> {
  const signatures = {
    author: { ...author, atMs: completedAtMs },
    committer: { ...repository.committer, atMs: completedAtMs },
  };
  if (shortfall !== undefined) {
    const isUnclear = checkedOut === undefined || (await readSnapshot(repository.objects, checkedOut, signatures));
    return isUnclear ? undefined : { workspace: { tree, commit: checkedOut }, commit: checkedOut, objects };
  }
  const data = encodeCommit({
    tree,
    parents: checkedOut === undefined ? [] : [checkedOut, ...merging],
    ...signatures,
    message: `files of ${role.replaceAll(/\p{Cc}+/gu, ' ')}, step ${number}\n`,
  });
  const snapshot: GitObject = { type: 'commit', data };
  const commit = hashObject(snapshot, repository.objects.format);
  return { workspace: { tree, commit, ...(missing && { missing }) }, commit, objects: [...objects, snapshot] };
}
