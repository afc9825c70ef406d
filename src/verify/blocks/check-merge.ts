import type { CommitOf } from '../../thread/read/thread-state.ts';
import { CONFLICT, type BlockDefinition } from '../../workflow/definition.ts';

/**
 * Checks what the step of a block says of the merge of its branches' files.
 *
 * @param isJoined whether the branches joined: only then their files are merged
 * @returns what is wrong, a sentence each
 */
export async function checkMerge(
  { node: { meta, merge } }: CommitOf<'step'>,
  block: Pick<BlockDefinition, 'merge'>,
  { isJoined }: { isJoined: boolean },
): Promise<string[]> {
  const faults: string[] = [];
  if ((meta['$status'] === CONFLICT && block.merge !== undefined) !== (meta['conflicts'] !== undefined)) {
    faults.push("'conflicts' are there for the status 'conflict', and for no other");
  }
  if (merge !== undefined && (block.merge === undefined || !isJoined))
    faults.push('it records a merge that its block does not make');
  return faults;
}
