import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { CommitOf } from './thread-state.ts';
import { readToldChain } from './told-chain.ts';

/** Starts by the commits that were passed on the way to them. */
export type KnownStarts = Map<ObjectId, CommitOf<'start'>>;

/**
 * The start of the thread that a commit belongs to; `undefined` if its chain cannot be read.
 *
 * @param known starts that were found before, to which this one is added: what forks share is read once
 */
export async function readStart(
  repository: Repository,
  from: ObjectId,
  known: KnownStarts = new Map(),
): Promise<CommitOf<'start'> | undefined> {
  const passed: ObjectId[] = [];
  try {
    for await (const commit of readToldChain(repository, from)) {
      passed.push(commit.id);
      const start = commit.kind === 'start' ? commit : known.get(commit.id);
      if (start === undefined) continue;
      for (const id of passed) known.set(id, start);
      return start;
    }
  } catch {
    // A corrupt thread is the child of no thread; listings call it corrupt.
  }
  return undefined;
}
