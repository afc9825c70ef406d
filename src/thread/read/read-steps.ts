import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readChain } from './read-chain.ts';
import { readTextAt } from '../thread-commit.ts';
import type { CommitOf, StepEntry } from './thread-state.ts';

/** Consecutive steps of a thread, oldest first; with the start if they are the first ones. */
export type ReadSteps = { steps: StepEntry[]; start: CommitOf<'start'> | undefined };

/**
 * Reads the last steps up to a commit of a thread, and nothing before them.
 *
 * @param limit how many at most
 * @throws {CorruptThread} if a commit on the way is damaged
 */
export async function readSteps(repository: Repository, from: ObjectId, limit: number): Promise<ReadSteps> {
  const commits: CommitOf<'step'>[] = [];
  let start: CommitOf<'start'> | undefined;
  for await (const commit of readChain(repository, from)) {
    if (commit.kind === 'start') start = commit;
    if (commit.kind !== 'step') continue;
    if (commits.length >= limit) break;
    commits.push(commit);
    if (commits.length >= limit && commit.node.number > 1) break;
  }
  const steps: StepEntry[] = [];
  for (const commit of commits.toReversed()) {
    steps.push({ commit, text: await readTextAt(repository, commit, 'output.md') });
  }
  return { steps, start };
}
