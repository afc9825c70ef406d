import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readTextAt, type ThreadCommit } from '../thread-commit.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadId } from '../thread-id.ts';
import { readChain } from './read-chain.ts';
import type { CommitOf, StepEntry } from './thread-state.ts';

/** A thread with all its commits and texts, as it is at one head. A value: it does not change when the thread advances. */
export type WholeThread = {
  /** The id of its ref. A fork has its own id, and shares `start.node.id`. */
  id: ThreadId;
  head: ThreadCommit;
  start: CommitOf<'start'>;
  prompt: string;
  /** All commits, from the start to the head. */
  chain: readonly ThreadCommit[];
  /** Oldest first. */
  steps: readonly StepEntry[];
};

/**
 * Reads a whole thread.
 *
 * @throws {CorruptThread} if its chain is not what storage promises
 */
export async function readThread(repository: Repository, id: ThreadId, from: ObjectId): Promise<WholeThread> {
  const commits: ThreadCommit[] = [];
  for await (const commit of readChain(repository, from)) commits.push(commit);
  const chain = commits.toReversed();
  const [head, start] = [commits[0], chain[0]];
  if (head === undefined || start?.kind !== 'start') throw new CorruptThread(from, 'its chain has no start');
  const steps: StepEntry[] = [];
  for (const commit of chain) {
    if (commit.kind === 'step') steps.push({ commit, text: await readTextAt(repository, commit, 'output.md') });
  }
  return { id, head, start, prompt: await readTextAt(repository, start, 'prompt.md'), chain, steps };
}
