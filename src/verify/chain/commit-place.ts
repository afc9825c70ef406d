import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import type { CommittedState } from '../../thread/new-thread-id.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import { committedAt, readPlace, type CommitOf } from '../../thread/read/thread-state.ts';
import type { ThreadId } from '../../thread/thread-id.ts';

/** The place of a commit: its thread, and the last step up to it. Small, because many are kept. */
export type CommitPlace = {
  /** The kind of the commit, and the hash of its node. */
  kind: ThreadCommit['kind'];
  hash: NodeHash;
  /** The number of the step, if it is one. */
  number: number | undefined;
  start: { hash: NodeHash; oid?: ObjectId | undefined } & Pick<
    ThreadStart,
    'depth' | 'parentThread' | 'parentState' | 'parentRole'
  >;
  /** The last step, or the start: its hash and its commit. */
  state: NodeHash;
  stateAt: CommittedState;
};

/** The place of a commit whose thread has been read. */
export function commitPlaceOf(
  commit: ThreadCommit,
  { hash, node, index }: CommitOf<'start'>,
  { state, stateAt }: Pick<CommitPlace, 'state' | 'stateAt'>,
): CommitPlace {
  const { depth, parentThread, parentState, parentRole } = node;
  return {
    kind: commit.kind,
    hash: commit.hash,
    number: commit.kind === 'step' ? commit.node.number : undefined,
    start: { hash, oid: index.find((entry) => entry.hash === hash)?.oid, depth, parentThread, parentState, parentRole },
    state,
    stateAt,
  };
}

/**
 * Reads the place of a commit, without further checks.
 * @param thread whose tallies save reading all commits, if it leads to the commit; default: all are read
 * @throws {CorruptThread} if it is no sound part of a thread
 */
export async function readCommitPlace(repository: Repository, id: ObjectId, thread?: ThreadId): Promise<CommitPlace> {
  const { head, start, last = start } = await readPlace(repository, id, thread ? [thread] : [], undefined);
  return commitPlaceOf(head, start, { state: last.hash, stateAt: committedAt(last) });
}
