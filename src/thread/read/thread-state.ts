import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readTextAt, readThreadCommit, type ThreadCommit } from '../thread-commit.ts';
import type { CommittedState } from '../new-thread-id.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId } from '../thread-id.ts';
import { findKeptTallies, isKept, keepTallies, type KeptTally } from './kept-tallies.ts';
import { readChain } from './read-chain.ts';
import { ThreadMemory } from './thread-memory.ts';
import { addToTally, readTallyEntry, tallyOfStart, type Tally, type TallyEntry } from './tally.ts';

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
 * It holds the newest commits, and the tally of all. What else a command needs of earlier steps it reads from the chain.
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

// A step reads the state of a thread, and then puts the newest steps, from the same commits, into the agent's prompt.
const newestRead = new ThreadMemory<ReadonlyMap<ObjectId, ThreadCommit>>();
/** The most steps in a prompt. */
const MAX_NEWEST = 100;

/** A thread's state without its prompt, which is a text. */
export type ThreadPlace = Omit<ThreadState, 'id' | 'prompt' | 'end'>;

/** The part of a thread's state by which its definition is found. */
export type StartedThread = Pick<ThreadState, 'start'>;

/**
 * Reads the state of a thread: its newest commits back to the last step, and those that its kept tally does not have yet.
 *
 * @throws {CorruptThread} if its chain is not what storage promises
 */
export async function readState(repository: Repository, id: ThreadId, from: ObjectId): Promise<ThreadState> {
  const place = await readPlace(repository, from, [id], id);
  const prompt = await readTextAt(repository, place.start, 'prompt.md');
  return { id, prompt, ...place, end: place.head.kind === 'end' ? place.head : undefined };
}

/**
 * Reads as {@link readState} does, but no text.
 * @param of the threads whose kept tallies are used
 * @param keepFor the thread for which tallies that are new are kept
 */
export async function readPlace(
  repository: Repository,
  from: ObjectId,
  of: readonly ThreadId[],
  keepFor: ThreadId | undefined,
): Promise<ThreadPlace> {
  let kept: readonly KeptTally[] | undefined;
  const entries: TallyEntry[] = [];
  const pauses: CommitOf<'suspend' | 'resume'>[] = [];
  let head: ThreadCommit | undefined;
  let last: CommitOf<'step'> | undefined;
  let start: ThreadCommit | undefined;
  let known: KeptTally | undefined;
  const newest = new Map<ObjectId, ThreadCommit>();
  for await (const commit of readChain(repository, from)) {
    head ??= commit;
    if (newest.size < MAX_NEWEST) newest.set(commit.id, commit);
    if (last === undefined && (commit.kind === 'suspend' || commit.kind === 'resume')) pauses.unshift(commit);
    if (commit.kind === 'step') last ??= commit;
    // A short thread has no kept tally, so that its file is not looked for.
    if (commit.kind === 'step' && isKept({ steps: commit.node.number })) {
      const { number } = commit.node;
      kept ??= of.flatMap((id) => findKeptTallies(repository, id));
      known = kept.find((each) => each.commit === commit.id && each.tally.steps === number);
    }
    if (commit.kind === 'start') start = commit;
    if (known !== undefined) break;
    entries.push(await readTallyEntry(repository, commit));
  }
  const tally = tallyUp(repository, keepFor, entries.toReversed(), known);
  if (tally !== undefined) start ??= await readThreadCommit(repository, tally.start);
  if (head === undefined || tally === undefined || start?.kind !== 'start') {
    throw new CorruptThread(from, 'its chain has no start');
  }
  newestRead.set(repository, { start }, newest);
  return { head, start, last, pauses, tally };
}

/** The newest commits that {@link readPlace} read of a thread, by their ids. */
export function newestCommits(repository: Repository, thread: StartedThread): ReadonlyMap<ObjectId, ThreadCommit> {
  return newestRead.get(repository, thread) ?? new Map();
}

/** Adds commits up, oldest first: to a tally that was kept, or from the start. Keeps the newest tallies on the way. */
function tallyUp(
  repository: Repository,
  id: ThreadId | undefined,
  entries: readonly TallyEntry[],
  known: KeptTally | undefined,
): Tally | undefined {
  let tally = known?.tally;
  let before: ThreadCommit['kind'] = 'step';
  const kept = known === undefined ? [] : [known];
  for (const entry of entries) {
    tally = tally === undefined ? tallyOfStart(entry) : addToTally(tally, entry, before);
    before = entry.kind;
    if (entry.kind === 'step' && isKept(tally)) kept.unshift({ commit: entry.id, tally });
  }
  if (id !== undefined && kept[0] !== known) keepTallies(repository, id, kept);
  return tally;
}

/** The state after one more commit, which has the head for its parent. */
export async function advanceState(
  repository: Repository,
  state: ThreadState,
  commit: ThreadCommit,
): Promise<ThreadState> {
  const tally = addToTally(state.tally, await readTallyEntry(repository, commit), state.head.kind);
  const after = { ...state, head: commit, tally };
  switch (commit.kind) {
    case 'start':
      throw new CorruptThread(commit.id, 'a second start in one chain');
    case 'step':
      if (isKept(tally)) {
        const kept = findKeptTallies(repository, state.id).filter((each) => each.commit !== commit.id);
        keepTallies(repository, state.id, [{ commit: commit.id, tally }, ...kept]);
      }
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
