import type { Repository } from '../../git/repository.ts';
import { hasFailed } from './exchange.ts';
import { readTextAt, type ThreadCommit } from '../thread-commit.ts';
import type { CommitOf } from '../read/thread-state.ts';

/** What a person answered to a role. */
export type StandingAnswer = {
  text: string;
  /** The reason with which the role stopped. */
  question: string;
  /** True if a failed turn after it had the answer in its prompt. */
  isKnown: boolean;
};

/**
 * Reads a person's answer to a role's question, as long as it is valid: until a turn that had it in the prompt ends in a step,
 * another question or a rejected reply. A turn that fails, times out or reaches a limit leaves it valid.
 * @param chain a thread's commits, from its start to its head
 * @returns `undefined` if there is no answer, or it was for another role
 */
export async function readStandingAnswer(
  repository: Repository,
  chain: readonly ThreadCommit[],
  role: string,
): Promise<StandingAnswer | undefined> {
  let isKnown = false;
  for (let i = chain.length - 1; i > 0; i -= 2) {
    const [suspension, resumption] = [chain[i - 1], chain[i]];
    // The text with which an ended thread is resumed is no answer: the commit before it is no suspension.
    if (resumption?.kind !== 'resume' || suspension?.kind !== 'suspend') return undefined;
    // A limit, or a rule that was undecided, kept this turn from beginning, so it neither asked anything nor got the answer.
    if (!hasBegun(suspension)) continue;
    if (suspension.node.role !== role) return undefined;
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

/** Tells whether a turn started its agent. */
function hasBegun({ node }: CommitOf<'suspend'>): boolean {
  const { cause, usage, content, react, attempts } = node;
  if (cause === 'rule') return false;
  return cause !== 'limit' || usage !== null || content !== null || react !== null || attempts.length > 0;
}
