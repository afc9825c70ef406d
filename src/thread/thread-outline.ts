import type { NodeHash } from '../cas/hash.ts';
import type { ObjectId } from '../git/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { Usage } from '../schema/built-in/usage.ts';
import { CorruptThread } from './thread-errors.ts';
import { readTextAt } from './thread-commit.ts';
import type { ThreadId } from './thread-id.ts';
import { stateHash, type CommitOf, type ThreadState } from './thread-state.ts';
import { readToldChain, type ToldCommit, type ToldStep } from './told-chain.ts';

/** What a thread has come to, without what was said on the way. */
export type ThreadOutline = Pick<ThreadState, 'id' | 'start' | 'prompt'> & {
  head: ToldCommit;
  stepCount: number;
  /** The last step, or the start. */
  state: NodeHash;
  /** The steps that took in ends of child threads, oldest first. */
  calling: readonly Pick<ToldStep, 'hash' | 'commit' | 'node'>[];
  /** Who did something, and what that cost: the steps, oldest first, then the turns that ended in a suspension. */
  turns: readonly PaidTurn[];
};

/** A turn, and what it cost, where that is known. */
export type PaidTurn = { role: string; usage: Usage | null };

/**
 * Reads what a thread has come to, three objects for each step; of a step nothing is kept but what it cost.
 *
 * @throws {CorruptThread} if its chain is not what storage promises
 */
export async function readOutline(repository: Repository, id: ThreadId, from: ObjectId): Promise<ThreadOutline> {
  const steps: PaidTurn[] = [];
  const suspensions: PaidTurn[] = [];
  const calling: ToldStep[] = [];
  let state: NodeHash | undefined;
  let head: ToldCommit | undefined;
  let start: CommitOf<'start'> | undefined;
  for await (const told of readToldChain(repository, from)) {
    head ??= told;
    if (told.kind === 'start') start = told;
    if (told.kind === 'step') {
      state ??= told.hash;
      steps.push({ role: told.node.role, usage: told.node.usage });
      if (told.node.childThreads.length > 0) calling.push(told);
    }
    if (told.kind === 'suspend' && told.node.usage) {
      suspensions.push({ role: told.node.role, usage: told.node.usage });
    }
  }
  if (head === undefined || start === undefined) throw new CorruptThread(from, 'its chain has no start');
  const prompt = await readTextAt(repository, start, 'prompt.md');
  return {
    id,
    head,
    start,
    prompt,
    stepCount: steps.length,
    state: state ?? start.hash,
    calling: calling.toReversed(),
    turns: [...steps.toReversed(), ...suspensions.toReversed()],
  };
}

/** The same of a thread that has been read. */
export function outlineOf(thread: ThreadState): ThreadOutline {
  const { id, head, start, prompt, steps, suspendedTurns } = thread;
  return {
    id,
    head: head.kind === 'step' ? { ...head, reply: undefined } : head,
    start,
    prompt,
    stepCount: steps.length,
    state: stateHash(thread),
    calling: steps.map(({ commit }) => commit).filter(({ node }) => node.childThreads.length > 0),
    turns: [...steps.map(({ commit }) => commit.node), ...suspendedTurns],
  };
}
