import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readChain } from '../chain.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import type { CommitOf } from '../thread-state.ts';

/** Where a commit stands: in which thread, and after which step of it. */
export type Standing = {
  head: ThreadCommit;
  start: CommitOf<'start'>;
  /** The last step's hash, or the start's. */
  state: NodeHash;
};

/**
 * Reads where a commit stands, without checking more than every reader does.
 * @throws {CorruptThread} if it is no sound part of a thread
 */
export async function readStanding(repository: Repository, id: ObjectId): Promise<Standing | undefined> {
  let head: ThreadCommit | undefined;
  let step: NodeHash | undefined;
  for await (const commit of readChain(repository, id)) {
    head ??= commit;
    if (commit.kind === 'step') step ??= commit.hash;
    if (commit.kind === 'start') return { head, start: commit, state: step ?? commit.hash };
  }
  return undefined;
}
