import { isDeepStrictEqual } from 'node:util';
import type { NodeHash } from '../cas/hash.ts';
import { UwfError } from '../errors.ts';
import { formatOfId, type GitObject, hashObject, type ObjectId } from '../git/format/object-id.ts';
import {
  type Commit,
  encodeCommit,
  encodeSignature,
  parseCommit,
  type Signature,
  signatureLines,
} from '../git/format/objects.ts';
import { diffTrees, diffTreesWithIds, type FileChange, type FileContents } from '../git/process/revisions.ts';
import type { GitEnvironment, Identity, Repository, RepositoryLocation } from '../git/repository.ts';
import { type ObjectReader, readCommitData } from '../git/stores/read.ts';
import { type RestoredWorkTree, restoreWorkTree } from '../git/worktree/own-work-tree.ts';
import type { Snapshot } from '../git/worktree/snapshot.ts';
import type { JsonObject } from '../json.ts';
import { orElse } from '../or-else.ts';
import { readChain } from './thread-chain.ts';
import { readTextAt, readThreadCommit, statusOf, type ThreadCommit, type ThreadCommitKind } from './thread-commit.ts';
import { CorruptThread } from './thread-errors.ts';
import type { ThreadId, ThreadPointer } from './thread-id.ts';
import { type CommitOf, stepsUpTo } from './thread-state.ts';

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

/** Finds the files that a step recorded; `undefined` if it recorded none. */
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
 * @throws {UwfError} `no-snapshot` if the step recorded nothing
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

/** The newest step before a commit of a thread that recorded its files: the commit's totals name it. */
export async function findRecordedBefore(repository: Repository, commit: ThreadCommit): Promise<Step | undefined> {
  const recorded = commit.kind === 'start' ? null : commit.node.totals.recorded;
  if (recorded === null) return undefined;
  const step = await readThreadCommit(repository, recorded);
  if (step.kind === 'step' && step.node.workspace !== undefined) return step;
  throw new CorruptThread(commit.id, `its totals name ${recorded}, which recorded no files`);
}

/** Lists how the files that one step left differ from those of another; `undefined` if one of them recorded none. */
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

export type RecordedFiles = {
  /** False if they could not be recorded: the tree is that of the checked-out commit. */
  isSnapshot: boolean;
  tree: ObjectId;
  /** The commit that was checked out; absent on an unborn branch. */
  checkedOut: ObjectId | undefined;
  /** The commits that were being merged into it. */
  merging: readonly ObjectId[];
};

type StepOf = {
  commit: Pick<Commit, 'author' | 'committer'>;
  node: { workspace?: { tree: ObjectId; commit: ObjectId } };
};

/** Finds the files that a step left; `undefined` if its node names none. */
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

/** Reads a commit if it is the step's snapshot: its author line is that of the step. `undefined` if it is another commit. */
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

export type DiffStep = {
  step: NodeHash;
  head: ObjectId;
  role: string;
  /** `meta.$status`, or null. */
  status: string | null;
  meta: JsonObject;
  text: string;
};

/** The steps with the same number; a side is null if its thread has fewer steps. */
export type StepPair = {
  number: number;
  a: DiffStep | null;
  b: DiffStep | null;
  /** Whether both have the same role and the same reply. */
  isSame: boolean;
};

/** Where two threads diverge, and the steps of each from there on. */
export type ThreadDiff = {
  a: ThreadId;
  b: ThreadId;
  /** The newest commit that both have; null where they share nothing. `number` counts the steps up to it. */
  ancestor: { head: ObjectId; kind: ThreadCommitKind; node: NodeHash; number: number } | null;
  /** The number of the first step that is not the same; null where all are. */
  firstDifference: number | null;
  /** The steps after the ancestor, oldest first. */
  steps: StepPair[];
  /**
   * The newest step of each that recorded the files it left; one of them may be before the ancestor. Null where a thread has
   * none, or neither has one after the ancestor: then their files are the same.
   */
  files: { a: CommitOf<'step'>; b: CommitOf<'step'> } | null;
};

/**
 * Compares two threads step by step, from where they diverge.
 *
 * Reads both back to the newest commit that they share, and further only to find the files of that time. Threads that share
 * none are compared from their starts.
 * @throws {CorruptThread} if one of them cannot be read
 */
export async function diffThreads(repository: Repository, a: ThreadPointer, b: ThreadPointer): Promise<ThreadDiff> {
  const { ownOfA, ownOfB, ancestor } = await part(repository, a.head, b.head);
  const number = ancestor === undefined ? 0 : stepsUpTo(ancestor);
  const [stepsOfA, stepsOfB] = [await readSteps(repository, ownOfA), await readSteps(repository, ownOfB)];
  const steps: StepPair[] = [];
  for (let i = 0; i < Math.max(stepsOfA.length, stepsOfB.length); i += 1) {
    const pair = { a: stepsOfA[i] ?? null, b: stepsOfB[i] ?? null };
    steps.push({ number: number + i + 1, ...pair, isSame: isSame(pair.a, pair.b) });
  }
  return {
    a: a.id,
    b: b.id,
    ancestor: ancestor ? { head: ancestor.id, kind: ancestor.kind, node: ancestor.hash, number } : null,
    firstDifference: steps.find((pair) => !pair.isSame)?.number ?? null,
    steps,
    files: await findFiles(repository, ownOfA, ownOfB, ancestor),
  };
}

type Parted = { ownOfA: ThreadCommit[]; ownOfB: ThreadCommit[]; ancestor: ThreadCommit | undefined };

/** Walks both chains in turn until one reaches a commit of the other. Returns the commits of each side, newest first. */
async function part(repository: Repository, a: ObjectId, b: ObjectId): Promise<Parted> {
  const one = { walk: readChain(repository, a), seen: new Map<ObjectId, ThreadCommit>() };
  const other = { walk: readChain(repository, b), seen: new Map<ObjectId, ThreadCommit>() };
  const cut = (seen: Map<ObjectId, ThreadCommit>, at: ObjectId | undefined): ThreadCommit[] => {
    const commits = [...seen.values()];
    const end = commits.findIndex(({ id }) => id === at);
    return end === -1 ? commits : commits.slice(0, end);
  };
  for (let isMoving = true; isMoving;) {
    isMoving = false;
    for (const [side, across] of [[one, other] as const, [other, one] as const]) {
      const next = await side.walk.next();
      if (next.done) continue;
      isMoving = true;
      const commit = next.value;
      side.seen.set(commit.id, commit);
      if (across.seen.has(commit.id)) {
        return { ownOfA: cut(one.seen, commit.id), ownOfB: cut(other.seen, commit.id), ancestor: commit };
      }
    }
  }
  return { ownOfA: cut(one.seen, undefined), ownOfB: cut(other.seen, undefined), ancestor: undefined };
}

async function readSteps(repository: Repository, newestFirst: readonly ThreadCommit[]): Promise<DiffStep[]> {
  const steps: DiffStep[] = [];
  for (const commit of newestFirst.toReversed()) {
    if (commit.kind !== 'step') continue;
    const { role, meta } = commit.node;
    const text = await readTextAt(repository, commit, 'output.md');
    steps.push({ step: commit.hash, head: commit.id, role, status: statusOf(meta), meta, text });
  }
  return steps;
}

function isSame(a: DiffStep | null, b: DiffStep | null): boolean {
  return a !== null && b !== null && a.role === b.role && a.text === b.text && isDeepStrictEqual(a.meta, b.meta);
}

async function findFiles(
  repository: Repository,
  ownOfA: readonly ThreadCommit[],
  ownOfB: readonly ThreadCommit[],
  ancestor: ThreadCommit | undefined,
): Promise<ThreadDiff['files']> {
  const [own, others] = [ownOfA.find(hasFiles), ownOfB.find(hasFiles)];
  const isShared = ancestor !== undefined && (own === undefined) !== (others === undefined);
  const shared = isShared ? await findNewestRecorded(repository, ancestor) : undefined;
  const [a, b] = [own ?? shared, others ?? shared];
  return a && b ? { a, b } : null;
}

function hasFiles(commit: ThreadCommit): commit is CommitOf<'step'> {
  return commit.kind === 'step' && commit.node.workspace !== undefined;
}
