import type { Repository } from '../../git/repository.ts';
import { hasFailed } from './exchange.ts';
import { readTextAt, type ThreadCommit } from '../thread-commit.ts';
import type { CommitOf } from '../read/thread-state.ts';

/** What a person answered to a role. */
export type StandingAnswer = {
  text: string;
  /** The reason with which the role stopped. */
  question: string;
  /** True where a turn that failed had it before. */
  isKnown: boolean;
};

/**
 * Reads a person's answer to the question with which a role stopped, as long as it stands: until a turn that had it ended in
 * a step, another question or a reply that was not accepted. A turn that failed, ran out of time or met a limit leaves it.
 * @param chain a thread's commits, from its start to its head
 * @returns `undefined` where nothing was answered, or not to this role
 */
export async function readStandingAnswer(
  repository: Repository,
  chain: readonly ThreadCommit[],
  role: string,
): Promise<StandingAnswer | undefined> {
  let isKnown = false;
  for (let i = chain.length - 1; i > 0; i -= 2) {
    const [suspension, resumption] = [chain[i - 1], chain[i]];
    // What is said of an ended thread answers no question: there the commit before is no suspension.
    if (resumption?.kind !== 'resume' || suspension?.kind !== 'suspend' || suspension.node.role !== role)
      return undefined;
    // A turn that a limit kept from beginning has asked nothing, and was told nothing.
    if (!hasBegun(suspension)) continue;
    if (resumption.node.answer !== null)
      return {
        text: await readTextAt(repository, resumption, 'answer.md'),
        question: suspension.node.reason,
        isKnown,
      };
    const { cause } = suspension.node;
    if (cause !== 'limit' && cause !== 'timeout' && !(await hasFailed(repository, suspension))) return undefined;
    isKnown = true;
  }
  return undefined;
}

/** Tells whether a turn got as far as its agent. */
function hasBegun({ node }: CommitOf<'suspend'>): boolean {
  const { cause, usage, content, react, attempts } = node;
  return cause !== 'limit' || usage !== null || content !== null || react !== null || attempts.length > 0;
}
