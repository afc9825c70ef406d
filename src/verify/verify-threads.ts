import type { ObjectId } from '../git/format/object-id.ts';
import type { RefName } from '../git/ref-store.ts';
import type { GitEnvironment, Repository } from '../git/repository.ts';
import { findArchived } from '../thread/archive/archive-list.ts';
import { getThread, type OnDamage } from '../thread/find-thread.ts';
import {
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  historyRef,
  type ThreadId,
  threadOfRef,
  type ThreadPointer,
} from '../thread/thread-id.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import { attempt, type Fault } from './fault.ts';
import { Verification, type Unrepeated } from './chain/verification.ts';
import { listCorrupt, rememberVerdict } from './remembered-verdicts.ts';

/** The result for one thread. */
export type ThreadVerdict = {
  thread: ThreadId;
  ref: RefName;
  head: ObjectId;
  /** Whether there are no findings. */
  sound: boolean;
  /** How many commits were checked, with those of child threads. */
  commits: number;
  /** What is wrong, in the order of the commits, oldest first. */
  findings: Fault[];
  /** The merges of blocks that could not be repeated, and why. */
  unrepeated: Unrepeated[];
};

/** Where threads are verified. */
export type VerifyContext = {
  repository: Repository;
  /** The environment that git runs with when it repeats the merges of blocks; default: they are not repeated. */
  env?: GitEnvironment;
  /** Called for each commit that is checked. */
  onCommit?: () => void;
};

/**
 * Verifies a thread: every object, hash, schema, link, commit and parent. Replays every decision from the stored workflow and
 * steps. Runs no agent. This machine remembers a corrupt thread, so that lists show it.
 *
 * @param thread an id, or a unique prefix of one
 * @throws {ThreadNotFound} if there is none; what is wrong with a thread is not thrown but found
 * @throws {UwfError} `ambiguous-thread` if there are several
 */
export async function verifyThread(context: VerifyContext, thread: string): Promise<ThreadVerdict> {
  const { repository } = context;
  return verifyPointer(repository, new Verification(repository, context), await getThread(repository, thread));
}

/** Verifies all threads as {@link verifyThread} does, in the order of their refs, archived ones last. Shared commits are checked once. */
export async function* verifyThreads(
  context: VerifyContext,
  onDamage: OnDamage = {},
): AsyncGenerator<ThreadVerdict, void, void> {
  const { repository } = context;
  const verification = new Verification(repository, context);
  const corrupt = listCorrupt(repository);
  for (const prefix of [ACTIVE_PREFIX, HISTORY_PREFIX]) {
    for (const { name, id: head } of await repository.refs.list(prefix, onDamage)) {
      const thread = threadOfRef(name);
      if (thread) yield verifyPointer(repository, verification, { ...thread, ref: name, head }, corrupt);
    }
  }
  for (const pointer of await findArchived(repository, '')) {
    yield verifyPointer(repository, verification, pointer, corrupt);
  }
}

async function verifyPointer(
  repository: Repository,
  verification: Verification,
  pointer: ThreadPointer,
  corrupt: ReadonlySet<string> = listCorrupt(repository),
): Promise<ThreadVerdict> {
  const { id, ref, head, isHistory, keptBy } = pointer;
  const { commits, findings, unrepeated } = await verification.verify(head);
  const hasHistoryRef = isHistory && keptBy === undefined;
  if (hasHistoryRef && findings.length === 0) findings.push(...(await checkHistoryRef(repository, id, ref, head)));
  rememberVerdict(repository, pointer, findings[0]?.what, corrupt);
  return { thread: id, ref, head, sound: findings.length === 0, commits, findings, unrepeated };
}

/**
 * Checks that a history ref points at an end, and that its name has the UTC day of that end.
 *
 * @param ref its name, or the name of its tracking ref
 */
export async function checkHistoryRef(
  repository: Repository,
  id: ThreadId,
  ref: string,
  head: ObjectId,
): Promise<Fault[]> {
  const findings: Fault[] = [];
  const report = (path: string | null, what: string): void => void findings.push({ commit: head, path, what });
  await attempt(report, null, async () => {
    const commit = await readThreadCommit(repository, head);
    if (commit.kind !== 'end') report(null, `${ref} is for threads that ended, and this is a ${commit.kind}`);
    else if (!ref.endsWith(historyRef(id, commit.node.completedAtMs).slice('refs/'.length)))
      report('end.json', `it ended on another day than ${ref}`);
  });
  return findings;
}
