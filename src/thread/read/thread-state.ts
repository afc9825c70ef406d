import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readTextAt, readThreadCommit, type ThreadCommit } from '../thread-commit.ts';
import type { CommittedState } from '../new-thread-id.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId } from '../thread-id.ts';
import { addToTally, tallyBefore, type Tally } from './tally.ts';

/** A thread's commit of one kind. */
export type CommitOf<K extends ThreadCommit['kind']> = Extract<ThreadCommit, { kind: K }>;

/**
 * The commit of the caller from which a child was called; `undefined` for a thread without a caller, whose start can have its
 * base as first parent.
 */
export function callerCommit({ node, commit }: Pick<CommitOf<'start'>, 'node' | 'commit'>): ObjectId | undefined {
  return node.parentThread === null ? undefined : commit.parents[0];
}

/** A step with the text of its reply. */
export type StepEntry = { commit: CommitOf<'step'>; text: string };

/**
 * A thread as it is at one head. A value: it does not change when the thread advances.
 *
 * It holds the newest commits, and what all come to. What else a command needs of earlier steps it reads from the chain.
 */
export type ThreadState = {
  /** The id of its ref. A fork has its own id, and shares `start.node.id`. */
  id: ThreadId;
  head: ThreadCommit;
  start: CommitOf<'start'>;
  prompt: string;
  /** The newest step; absent before the first. */
  last: CommitOf<'step'> | undefined;
  /** The suspensions and resumptions after the last step, oldest first. */
  pauses: readonly CommitOf<'suspend' | 'resume'>[];
  tally: Tally;
  end: CommitOf<'end'> | undefined;
};

/** A thread's state without its prompt, which is a text. */
export type ThreadPlace = Omit<ThreadState, 'id' | 'prompt' | 'end'>;

/** The part of a thread's state by which its definition is found. */
export type StartedThread = Pick<ThreadState, 'start'>;

/**
 * Reads the state of a thread: its head, which tells what the commits before it come to, those back to the last step, and its start.
 *
 * @throws {CorruptThread} if its chain is not what storage promises
 */
export async function readState(repository: Repository, id: ThreadId, from: ObjectId): Promise<ThreadState> {
  const place = await readPlace(repository, from);
  const prompt = await readTextAt(repository, place.start, 'prompt.md');
  return { id, prompt, ...place, end: place.head.kind === 'end' ? place.head : undefined };
}

/** Reads as {@link readState} does, but no text. */
export async function readPlace(repository: Repository, from: ObjectId): Promise<ThreadPlace> {
  const head = await readThreadCommit(repository, from);
  const tally = await addToTally(repository, tallyBefore(head), head);
  const pauses: CommitOf<'suspend' | 'resume'>[] = [];
  let last: CommitOf<'step'> | undefined;
  for (let commit = head; ;) {
    if (commit.kind === 'suspend' || commit.kind === 'resume') pauses.unshift(commit);
    if (commit.kind === 'step') last = commit;
    if (commit.kind === 'step' || commit.kind === 'start') break;
    const [parent] = commit.commit.parents;
    if (parent === undefined) throw new CorruptThread(commit.id, 'it is no start and has no parent');
    commit = await readThreadCommit(repository, parent);
  }
  const start = head.kind === 'start' ? head : await readThreadCommit(repository, tally.start);
  // Plain git can bring a head that tells of another thread.
  const isItsStart = start.kind === 'start' && (head.kind === 'start' || head.node.start === start.hash);
  if (!isItsStart || (last?.node.number ?? 0) !== tally.steps) {
    throw new CorruptThread(from, 'its totals are not those of the commits before it');
  }
  return { head, start, last, pauses, tally };
}

/** The state after one more commit, which has the head for its parent. */
export async function advanceState(
  repository: Repository,
  state: ThreadState,
  commit: ThreadCommit,
): Promise<ThreadState> {
  const tally = await addToTally(repository, state.tally, commit);
  const after = { ...state, head: commit, tally };
  switch (commit.kind) {
    case 'start':
      throw new CorruptThread(commit.id, 'a second start in one chain');
    case 'step':
      return { ...after, last: commit, pauses: [] };
    case 'suspend':
    case 'resume':
      return { ...after, pauses: [...state.pauses, commit] };
    case 'end':
      return { ...after, end: commit };
  }
}

/** The hash of the last step, or of the start: `parentState` of a child, `previous` of a step. */
export function stateHash(state: Pick<ThreadState, 'last' | 'start'>): NodeHash {
  return stateCommit(state).hash;
}

/** The commit of the last step, or of the start. The ids of children that are called now follow from it. */
export function stateCommit({ last, start }: Pick<ThreadState, 'last' | 'start'>): CommitOf<'step' | 'start'> {
  return last ?? start;
}

/** The parts of a commit from which ids follow. */
export function committedAt({ id, commit }: Pick<ThreadCommit, 'id' | 'commit'>): CommittedState {
  return { commit: id, committedAtMs: commit.committer.atMs };
}
