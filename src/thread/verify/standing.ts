import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadStart } from '../../schema/built-in/thread-start.ts';
import { readChain } from '../chain.ts';
import type { CommittedState } from '../new-thread-id.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import { committedAt } from '../thread-state.ts';
import type { CommitOf } from '../thread-state.ts';

/** Where a commit stands: in which thread, and after which step of it. Small, as it is kept of many. */
export type Standing = {
  /** What the commit is, and its node. */
  kind: ThreadCommit['kind'];
  hash: NodeHash;
  /** Which step it is, if it is one. */
  number: number | undefined;
  start: { hash: NodeHash } & Pick<ThreadStart, 'depth' | 'parentThread' | 'parentState' | 'parentRole'>;
  /** The last step's hash, or the start's, and its commit. */
  state: NodeHash;
  stateAt: CommittedState;
};

/** Says where a commit stands. */
export function standingOf(
  commit: ThreadCommit,
  { hash, node }: CommitOf<'start'>,
  { state, stateAt }: Pick<Standing, 'state' | 'stateAt'>,
): Standing {
  const { depth, parentThread, parentState, parentRole } = node;
  return {
    kind: commit.kind,
    hash: commit.hash,
    number: commit.kind === 'step' ? commit.node.number : undefined,
    start: { hash, depth, parentThread, parentState, parentRole },
    state,
    stateAt,
  };
}

/**
 * Reads where a commit stands, without checking more than every reader does.
 * @throws {CorruptThread} if it is no sound part of a thread
 */
export async function readStanding(repository: Repository, id: ObjectId): Promise<Standing | undefined> {
  let head: ThreadCommit | undefined;
  let step: ThreadCommit | undefined;
  for await (const commit of readChain(repository, id)) {
    head ??= commit;
    if (commit.kind === 'step') step ??= commit;
    if (commit.kind !== 'start') continue;
    const state = step ?? commit;
    return standingOf(head, commit, { state: state.hash, stateAt: committedAt(state) });
  }
  return undefined;
}
