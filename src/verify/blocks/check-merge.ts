import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { isCompleted, type TakenBranch } from '../../moderator/judge-join.ts';
import type { MergeRecord } from '../../schema/built-in/merge-record.ts';
import { findFilesToMerge } from '../../thread/step-view.ts';
import type { CommitOf } from '../../thread/thread-state.ts';
import { CONFLICT, type BlockDefinition } from '../../workflow/definition.ts';
import type { ThreadProgress } from '../chain/progress.ts';

/** A branch that was taken in, and the commit of its end. */
export type EndedBranch = TakenBranch & { commit: ObjectId };

/**
 * Checks what the step of a block says of the merge of its branches' files: that there is one if the branches joined and the
 * block merges, from which commits, and in which order. Does not repeat it: see `repeatRecordedMerge`.
 *
 * @returns what is wrong, a sentence each
 */
export async function checkMerge(
  repository: Repository,
  { node: { meta, merge, workspace } }: CommitOf<'step'>,
  block: Pick<BlockDefinition, 'merge'>,
  { isJoined, ended, before }: { isJoined: boolean; ended: readonly EndedBranch[]; before: ThreadProgress },
): Promise<string[]> {
  const isMerged = block.merge !== undefined && isJoined;
  const { $status: status, conflicts } = meta;
  if (merge === undefined) {
    const faults = isMerged ? ['its branches joined, and it says nothing of the merge of their files'] : [];
    return conflicts === undefined ? faults : [...faults, "it has 'conflicts', and no merge"];
  }
  if (!isMerged) return ['it says that files were merged, which its block does not do'];
  const faults: string[] = [];
  if (workspace === undefined) faults.push('it does not have the files that it says were merged');
  if ((status === CONFLICT) !== (Array.isArray(conflicts) && conflicts.length > 0)) {
    faults.push(`its status is not '${CONFLICT}' exactly where it has conflicts`);
  }
  const base = await before.readBase(repository);
  if (merge.base !== base) faults.push(`it was merged into ${merge.base}; its branches began at ${base}`);
  const completed = ended.filter(isCompleted).map(({ key, commit }) => ({ key, end: commit }));
  const wanted = await findFilesToMerge(repository, block.merge?.order, completed);
  if (textOf(merge.branches) !== textOf(wanted)) {
    faults.push(
      'the commits that it says were merged are not the newest files of its completed branches in their order',
    );
  }
  return faults;
}

function textOf(branches: MergeRecord['branches']): string {
  return JSON.stringify(branches.map(({ key, commit }) => [key, commit]));
}
