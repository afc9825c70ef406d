import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { Usage } from '../../schema/built-in/usage.ts';
import { CorruptThread } from '../thread-errors.ts';
import { readTextAt } from '../format/thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import { stateHash, type CommitOf, type ThreadState } from './thread-state.ts';
import { readLightChain, type LightCommit, type LightStep } from './light-chain.ts';

/** The course of a thread, without its texts. */
export type ThreadOutline = Pick<ThreadState, 'id' | 'start' | 'prompt'> & {
  head: LightCommit;
  stepCount: number;
  /** The last step, or the start. */
  state: NodeHash;
  /** The steps that called child threads, oldest first. */
  calling: readonly Pick<LightStep, 'hash' | 'commit' | 'node'>[];
  /** The roles and costs of turns: the steps, oldest first, then the suspended turns. */
  turns: readonly PaidTurn[];
};

/** A turn, and its cost if that is known. */
export type PaidTurn = { role: string; usage: Usage | null };

/**
 * Reads the course of a thread: three objects for each step. Keeps only the cost of a step.
 *
 * @throws {CorruptThread} if its chain is not what storage promises
 */
export async function readOutline(repository: Repository, id: ThreadId, from: ObjectId): Promise<ThreadOutline> {
  const steps: PaidTurn[] = [];
  const suspensions: PaidTurn[] = [];
  const calling: LightStep[] = [];
  let state: NodeHash | undefined;
  let head: LightCommit | undefined;
  let start: CommitOf<'start'> | undefined;
  for await (const told of readLightChain(repository, from)) {
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

/** The outline of a thread that has been read. */
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
