import type { Repository } from '../git/repository.ts';
import { entryOf, readAttempt, type RefusedReply, type Suspension } from './read-suspension.ts';
import type { CommitOf } from './thread-state.ts';
import { readReply } from './told-chain.ts';

/** A suspended turn as lists and logs tell it: without the replies that were not accepted. */
export type SuspensionOutline = Omit<Suspension, 'refused'> & {
  /** null where a light fetch has left them out. */
  refused: Pick<RefusedReply, 'attempt' | 'errors'>[] | null;
};

/**
 * Reads what a suspended turn came to. Nothing is fetched for that: of a text that a light fetch left out it is the part
 * that the commit's message has.
 * @throws {CorruptThread} if a part of it is not in the commit
 */
export async function outlineSuspension(
  repository: Repository,
  commit: CommitOf<'suspend'>,
): Promise<SuspensionOutline> {
  const { role, reason, cause, react, usage, due } = commit.node;
  return {
    suspension: commit.hash,
    role,
    reason,
    cause,
    text: await readReply(repository, commit),
    refused: await readErrors(repository, commit),
    trace: react,
    usage,
    ...(due !== undefined && { due: new Date(due).toISOString() }),
  };
}

async function readErrors(
  repository: Repository,
  commit: CommitOf<'suspend'>,
): Promise<Pick<RefusedReply, 'attempt' | 'errors'>[] | null> {
  const { objects } = repository;
  const refused: Pick<RefusedReply, 'attempt' | 'errors'>[] = [];
  for (const attempt of commit.node.attempts) {
    const { oid } = entryOf(commit, attempt, 'attempt');
    if (objects.prefetch !== undefined && !(await objects.has(oid))) return null;
    refused.push({ attempt, errors: (await readAttempt(repository, commit, attempt)).errors });
  }
  return refused;
}
