import { encodeCommit } from '../../git/format/commit.ts';
import { hashObject, type ObjectId } from '../../git/format/object-id.ts';
import type { GitObject } from '../../git/format/object-id.ts';
import { readSnapshot } from '../read/recorded-files.ts';
import type { Snapshot } from '../../git/worktree/snapshot.ts';
import type { Identity, Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';

/** A step's record of the files that it left. */
export type StepRecord = {
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
