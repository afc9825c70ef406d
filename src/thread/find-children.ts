import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { findByPrefix, findThread } from './find-thread.ts';
import { pokeIdFor } from './new-thread-id.ts';
import { callingSteps, findStart, type LightStart } from './thread-chain.ts';
import { type ThreadId, type ThreadPointer, timePrefix } from './thread-id.ts';
import { type CommitOf, committedAt, readPlace, stateCommit, type ThreadState } from './thread-state.ts';

export type ChildThread = { pointer: ThreadPointer; start: LightStart };

/** Results for threads that were checked, each with the head at which it was. */
export type SeenThreads = Map<ThreadId, { head: ObjectId; child: ChildThread | undefined }>;

/** Threads by the beginnings of their ids. */
export type ListedThreads = Map<string, Promise<ThreadPointer[]>>;

/**
 * Lists the child threads of a thread that it called since its last step, or start, and those that its steps have left, in the order of
 * their ids. The others have ended, and steps took their ends in (`readChildEnds`).
 */
export async function findChildren(
  repository: Repository,
  { id, start, last, tally }: Pick<ThreadState, 'id' | 'start' | 'last' | 'tally'>,
): Promise<ChildThread[]> {
  const { findArchived } = await import('./archive-list.ts');
  const children = new Map<ThreadId, ChildThread>();
  const addCalledFrom = async (step: CommitOf<'step'> | undefined): Promise<void> => {
    // A thread that is over may be archived while its caller is not.
    const time = timePrefix((step ?? start).commit.committer.atMs);
    const called = [...(await findByPrefix(repository, time)), ...(await findArchived(repository, time))];
    const listed = new Map([[time, Promise.resolve(called)]]);
    const found = await findCalledNow(repository, { start, last: step }, id, undefined, listed);
    for (const child of found) children.set(child.pointer.id, child);
  };
  await addCalledFrom(last);
  for await (const { node, commit } of callingSteps(repository, tally)) {
    // A step that took the place of another one has not taken in what that one called.
    if (node.leftUsage === undefined && node.replaces === undefined) continue;
    const [before] = commit.parents;
    if (before !== undefined) await addCalledFrom((await readPlace(repository, before)).last);
  }
  return [...children.values()].toSorted((a, b) => (a.pointer.id < b.pointer.id ? -1 : 1));
}

/**
 * Lists the child threads that a thread called under an id since its last step, or start, by the time in their ids. A fork of a
 * child is none: no call leads to it.
 * @param seen what earlier calls for the same state and id found; what this one finds is added
 * @param listed the threads of each time, for calls of the same moment; what this one lists is added
 */
export async function findCalledNow(
  repository: Repository,
  state: Pick<ThreadState, 'start' | 'last'>,
  callerId: ThreadId,
  seen: SeenThreads = new Map(),
  listed: ListedThreads = new Map(),
): Promise<ChildThread[]> {
  const { commit, hash } = stateCommit(state);
  const time = timePrefix(commit.committer.atMs);
  const called = listed.get(time) ?? findByPrefix(repository, time);
  listed.set(time, called);
  const children: ChildThread[] = [];
  for (const pointer of await called) {
    const { id, head } = pointer;
    let found = seen.get(id);
    if (found?.head !== head) {
      const start = await findStart(repository, head);
      const isChild =
        start !== undefined &&
        id === start.node.id &&
        start.node.call?.thread === callerId &&
        start.node.parentState === hash;
      found = { head, child: isChild ? { pointer, start } : undefined };
      seen.set(id, found);
    }
    if (found.child !== undefined) children.push(found.child);
  }
  return children;
}

/**
 * Lists what a thread has called since its last step, or start, as {@link findCalledNow} does, and what a turn called that was to do that
 * step again and was cut off.
 */
export async function findCalledSince(
  repository: Repository,
  { id, start, last }: Pick<ThreadState, 'id' | 'start' | 'last'>,
  seen?: SeenThreads,
  listed: ListedThreads = new Map(),
): Promise<ChildThread[]> {
  const called = await findCalledNow(repository, { start, last }, id, seen, listed);
  const before = last?.commit.parents[0];
  if (last === undefined || before === undefined) return called;
  const again = await findPokeId(repository, id, last);
  const state = { start, last: (await readPlace(repository, before)).last };
  return [...called, ...(await findCalledNow(repository, state, again, undefined, listed))];
}

/** The id under which the newest step of a thread is done again: after a crash that of the turn which was cut off. */
export async function findPokeId(repository: Repository, thread: ThreadId, step: CommitOf<'step'>): Promise<ThreadId> {
  for (let ordinal = 0; ; ordinal += 1) {
    const id = pokeIdFor(thread, committedAt(step), ordinal);
    if ((await findThread(repository, id)) === undefined) return id;
  }
}
