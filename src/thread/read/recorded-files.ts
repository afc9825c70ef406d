import { orElse } from '../../or-else.ts';
import { encodeSignature, parseCommit, signatureLines, type Commit, type Signature } from '../../git/format/commit.ts';
import { formatOfId, type ObjectId } from '../../git/format/object-id.ts';
import { readAnyTree, readCommitData, type ObjectReader } from '../../git/stores/read.ts';
import { kindOfMode } from '../../git/format/tree-lines.ts';

/** The folder of a step's own tree in which earlier versions recorded the files that it left. */
export const WORKSPACE_FOLDER = 'workspace';

/** The files that a step recorded, by the form of the record. */
export type RecordedFiles = {
  /** `commit`: a snapshot. `folder`: `workspace/` of the step's tree. `none`: the tree is that of the checked-out commit. */
  form: 'commit' | 'folder' | 'none';
  tree: ObjectId;
  /** The commit that was checked out; absent on an unborn branch. */
  checkedOut: ObjectId | undefined;
  /** The commits that were being merged into it. */
  merging: readonly ObjectId[];
};

/** A step's commit, and its node's record of the files. */
type StepOf = {
  commit: Pick<Commit, 'tree' | 'author' | 'committer'>;
  node: { workspace?: { tree: ObjectId; commit?: ObjectId } };
};

/**
 * Finds in which form a step recorded the files that it left; `undefined` if its node names none.
 *
 * @throws {ObjectMissing} {CorruptObject} if its tree or its snapshot cannot be read
 */
export async function findRecordedFiles(objects: ObjectReader, step: StepOf): Promise<RecordedFiles | undefined> {
  const { workspace } = step.node;
  if (workspace === undefined) return undefined;
  const { tree, commit } = workspace;
  const folder = (await readAnyTree(objects, step.commit.tree)).find(
    ({ name, mode }) => name === WORKSPACE_FOLDER && kindOfMode(mode) === 'folder',
  );
  if (folder !== undefined) return { form: 'folder', tree: folder.id, checkedOut: commit, merging: [] };
  const snapshot = commit && (await readSnapshot(objects, commit, step.commit));
  if (snapshot === undefined) return { form: 'none', tree, checkedOut: commit, merging: [] };
  const [checkedOut, ...merging] = snapshot.parents;
  return { form: 'commit', tree: snapshot.tree, checkedOut, merging };
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
