import type { ObjectId } from '../git/object-id.ts';
import type { RefName } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { getThread, type OnDamage, type ThreadPointer } from '../thread/find-thread.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { ACTIVE_PREFIX, HISTORY_PREFIX, historyRef, threadOfRef } from '../thread/thread-refs.ts';
import { attempt, type Finding } from '../thread/verify/finding.ts';
import { Verification } from '../thread/verify/verification.ts';
import type { EngineContext } from './context.ts';
import { createJudge } from './judge.ts';
import { rememberVerdict } from './verdicts.ts';

/** What came of verifying a thread. */
export type ThreadVerdict = {
  thread: ThreadId;
  ref: RefName;
  head: ObjectId;
  /** True if there is no finding. */
  sound: boolean;
  /** How many commits were looked at, those of the threads that it called included. */
  commits: number;
  /** How many contents were not checked, because a light fetch has left them out and nobody has read them yet. */
  unchecked: number;
  /** What is wrong, the commits in the order in which they were made: the first is the first difference. */
  findings: Finding[];
};

/**
 * Verifies a thread: every object, hash, schema, link, commit and parent, and every decision, which is made again from the
 * stored workflow and steps. Nothing is run; this machine remembers that a thread is corrupt, so that lists say so.
 *
 * @param thread a whole id, or a prefix that only it has
 */
export async function verifyThread(context: EngineContext, thread: string): Promise<ThreadVerdict> {
  const { repository } = context;
  return verifyPointer(context, createVerification(repository), await getThread(repository, thread));
}

/** Verifies all threads, by the names of their refs, as {@link verifyThread} does; what they share is looked at once. */
export async function* verifyThreads(
  context: EngineContext,
  onDamage: OnDamage = {},
): AsyncGenerator<ThreadVerdict, void, void> {
  const { repository } = context;
  const verification = createVerification(repository);
  for (const prefix of [ACTIVE_PREFIX, HISTORY_PREFIX]) {
    for (const { name, id: head } of await repository.refs.list(prefix, onDamage)) {
      const thread = threadOfRef(name);
      if (thread) yield verifyPointer(context, verification, { ...thread, ref: name, head });
    }
  }
}

function createVerification(repository: Repository): Verification {
  return new Verification(repository, createJudge(repository), repository.objects.prefetch !== undefined);
}

async function verifyPointer(
  context: EngineContext,
  verification: Verification,
  pointer: ThreadPointer,
): Promise<ThreadVerdict> {
  const { id, ref, head, isHistory, keptBy } = pointer;
  const before = verification.leftOut.length;
  let { commits, findings } = await verification.verify(id, head);
  let unchecked = verification.leftOut.length - before;
  if (findings.length > 0 && verification.leftOut.length > 0) {
    // Rules may have found no text where there is one: what is wrong is said of the whole thread only.
    await context.repository.objects.prefetch?.(verification.leftOut);
    const whole = new Verification(context.repository, createJudge(context.repository));
    ({ commits, findings } = await whole.verify(id, head));
    unchecked = 0;
  }
  const hasHistoryRef = isHistory && keptBy === undefined;
  if (hasHistoryRef && findings.length === 0)
    findings.push(...(await checkHistoryRef(context.repository, id, ref, head)));
  // Lists say so from now on, or no longer do.
  rememberVerdict(context.repository, pointer, findings[0]?.what);
  return { thread: id, ref, head, sound: findings.length === 0, commits, unchecked, findings };
}

/**
 * Checks that a history ref is where the thread that it is at belongs: at an end, and under the UTC day of that end.
 *
 * @param ref its name, or that under which a remote's is kept
 */
export async function checkHistoryRef(
  repository: Repository,
  id: ThreadId,
  ref: string,
  head: ObjectId,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const report = (path: string | null, what: string): void => void findings.push({ commit: head, path, what });
  await attempt(report, null, async () => {
    const commit = await readThreadCommit(repository, head);
    if (commit.kind !== 'end') report(null, `${ref} is for threads that ended, and this is a ${commit.kind}`);
    else if (!ref.endsWith(historyRef(id, commit.node.completedAtMs).slice('refs/'.length)))
      report('end.json', `it ended on another day than ${ref}`);
  });
  return findings;
}
