import type { ObjectId } from '../git/object-id.ts';
import type { RefName } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { getThread, listPointers, type ThreadPointer } from '../thread/find-thread.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { historyRef } from '../thread/thread-refs.ts';
import { attempt, type Finding } from '../thread/verify/finding.ts';
import { Verification } from '../thread/verify/verification.ts';
import { createJudge } from './judge.ts';

/** What came of verifying a thread. */
export type ThreadVerdict = {
  thread: ThreadId;
  ref: RefName;
  head: ObjectId;
  /** True if there is no finding. */
  sound: boolean;
  /** How many commits were looked at, those of the threads that it called included. */
  commits: number;
  /** What is wrong, the commits in the order in which they were made: the first is the first difference. */
  findings: Finding[];
};

/**
 * Verifies a thread: every object, hash, schema, link, commit and parent, and every decision, which is made again from the
 * stored workflow and steps. Nothing is run or written.
 *
 * @param thread a whole id, or a prefix that only it has
 */
export async function verifyThread(repository: Repository, thread: string): Promise<ThreadVerdict> {
  const pointer = await getThread(repository, thread);
  return verifyPointer(repository, new Verification(repository, createJudge(repository)), pointer);
}

/** Verifies all threads, oldest first, as {@link verifyThread} does; what they share is looked at once. */
export async function* verifyThreads(repository: Repository): AsyncGenerator<ThreadVerdict, void, void> {
  const verification = new Verification(repository, createJudge(repository));
  for (const pointer of await listPointers(repository)) yield verifyPointer(repository, verification, pointer);
}

async function verifyPointer(
  repository: Repository,
  verification: Verification,
  { id, ref, head, isHistory }: ThreadPointer,
): Promise<ThreadVerdict> {
  const { commits, findings } = await verification.verify(id, head);
  if (isHistory && findings.length === 0) findings.push(...(await checkHistoryRef(repository, id, ref, head)));
  return { thread: id, ref, head, sound: findings.length === 0, commits, findings };
}

async function checkHistoryRef(repository: Repository, id: ThreadId, ref: RefName, head: ObjectId): Promise<Finding[]> {
  const findings: Finding[] = [];
  const report = (path: string | null, what: string): void => void findings.push({ commit: head, path, what });
  await attempt(report, null, async () => {
    const commit = await readThreadCommit(repository, head);
    if (commit.kind !== 'end') report(null, `${ref} is for threads that ended, and this is a ${commit.kind}`);
    else if (historyRef(id, commit.node.completedAtMs) !== ref)
      report('end.json', `it ended on another day than ${ref}`);
  });
  return findings;
}
