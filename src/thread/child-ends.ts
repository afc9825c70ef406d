import type { Repository } from '../git/repository.ts';
import { readThreadCommit } from './thread-commit.ts';
import type { CommitOf } from './thread-state.ts';
import type { ToldStep } from './told-chain.ts';

/**
 * Reads the ends of the child threads that a step took in, in the order of its parents.
 *
 * Its further parents may be other things too; the step's node says which of them are children. One that cannot be read is
 * left out.
 */
export async function readChildEnds(
  repository: Repository,
  { commit, node }: Pick<ToldStep, 'commit' | 'node'>,
): Promise<CommitOf<'end'>[]> {
  if (node.childThreads.length === 0) return [];
  const ends: CommitOf<'end'>[] = [];
  for (const parent of commit.parents.slice(1)) {
    const further = await readThreadCommit(repository, parent).catch(() => undefined);
    if (further?.kind === 'end' && node.childThreads.includes(further.hash)) ends.push(further);
  }
  return ends;
}
