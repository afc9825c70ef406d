import type { ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { newThreadId } from './new-thread-id.ts';
import { readChain } from './thread-chain.ts';
import { WrongThreadState } from './thread-errors.ts';
import { activeRef, type ThreadId, type ThreadPointer } from './thread-id.ts';

type Forkable = Pick<ThreadPointer, 'id' | 'head'>;

/** A thread that shares the beginning of another. */
export type Fork = {
  thread: ThreadId;
  /** The commit that both share, from which the fork continues. */
  head: ObjectId;
  forkedFrom: ThreadId;
};

/**
 * Forks a thread: gives one of its commits a second ref, under a new id. Writes no object and does not change the thread.
 *
 * The fork has the same start, and so the same id in it: its rules decide like the thread's. Artifacts that no step has
 * taken in and the sessions of agents stay with the thread.
 * @param at a start, step, suspension or resumption of the thread; default: its head, or the last step of one that ended
 * @throws {WrongThreadState} if `at` is the thread's end, or no commit of it
 */
export async function forkThread(repository: Repository, thread: Forkable, at?: ObjectId): Promise<Fork> {
  const head = await findForkPoint(repository, thread, at);
  const id = newThreadId(repository);
  await repository.refs.update([{ name: activeRef(id), expected: null, value: head }]);
  return { thread: id, head, forkedFrom: thread.id };
}

async function findForkPoint(repository: Repository, thread: Forkable, at?: ObjectId): Promise<ObjectId> {
  let hasEnded = false;
  for await (const { id, kind } of readChain(repository, thread.head)) {
    if (kind === 'end') {
      hasEnded = true;
      if (id === at) break;
    } else if (at !== undefined) {
      if (id === at) return id;
    } else if (!hasEnded || kind === 'step' || kind === 'start') return id;
  }
  const what = `a fork cannot go on from ${at ?? 'its end'}`;
  const hint = `name one of its steps; 'uwf step list ${thread.id}' lists them`;
  throw new WrongThreadState(thread.id, hasEnded ? 'over' : 'somewhere else', what, hint);
}
