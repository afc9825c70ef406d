import { orElse } from '../../or-else.ts';
import { encodeSignature, parseCommit, signatureLines, type Commit, type Signature } from '../../git/format/commit.ts';
import { formatOfId, type ObjectId } from '../../git/format/object-id.ts';
import { readCommitData, type ObjectReader } from '../../git/stores/read.ts';

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
export type SnapshotCommit = Commit & { isOfCommitter: boolean };

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
