import { isNodeHash, prepareHashing } from '../cas/hash.ts';
import { repositoryNodes } from '../cas/lookup.ts';
import { combineSources } from '../cas/node.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { BrokenPackedRefs, type RefDamage } from '../git/format/errors.ts';
import type { GitEnvironment, RefName, Repository } from '../git/repository.ts';
import { readCommit } from '../git/stores/read.ts';
import { findArchived, findListFault, LIST_REF } from '../thread/archive-list.ts';
import { ENDS_PREFIX } from '../thread/archive-threads.ts';
import { getThread, type OnDamage, threadOfDamage } from '../thread/find-thread.ts';
import { makeRemovalMark, REMOVED_PREFIX } from '../thread/remove-thread.ts';
import { readThreadCommit } from '../thread/thread-commit.ts';
import {
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  historyRef,
  isThreadId,
  PINS_REF,
  REMOTES_PREFIX,
  type ThreadId,
  threadOfRef,
  type ThreadPointer,
} from '../thread/thread-id.ts';
import { WORKFLOWS_PREFIX } from '../workflow/registry/workflow-refs.ts';
import { checkNodes } from './check-commit.ts';
import { attempt, type Fault, type ReportFault } from './find-chain.ts';
import { KnownNodes, NodeCache, readFiles } from './read-checked.ts';
import { listCorrupt, rememberVerdict } from './remembered-verdicts.ts';
import { type Unrepeated, Verification } from './verification.ts';

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

export type VerifyContext = {
  repository: Repository;
  /** The environment that git runs with when it repeats the merges of blocks; default: they are not repeated. */
  env?: GitEnvironment;
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

export type RefVerdict = {
  /** The name, which git may not allow; or `packed-refs`. */
  ref: string;
  /** Null if the ref is damaged. */
  head: ObjectId | null;
  /** The thread, if it is a ref of a thread. */
  thread: ThreadId | null;
  sound: boolean;
  findings: (Omit<Fault, 'commit'> & { commit: ObjectId | null })[];
};

const UWF_PREFIX = 'refs/uwf/';

/**
 * Checks every ref under uwf's prefixes, with all that it reaches: threads as {@link verifyThreads} does, registries and
 * artifacts as nodes. An unknown ref is a finding, and so is a ref that git calls broken. Damage does not stop the check.
 */
export async function* fsck(context: VerifyContext): AsyncGenerator<RefVerdict, void, void> {
  await prepareHashing();
  const { repository } = context;
  yield* await findDamage(repository);
  for await (const { ref, head, thread, sound, findings } of verifyThreads(context, ignored)) {
    yield { ref, head, thread, sound, findings };
  }
  const cache = new NodeCache(repository);
  for (const prefix of PREFIXES) {
    for (const { name, id } of await repository.refs.list(prefix, ignored)) {
      // A fetch checks the commits of tracking refs.
      if (threadOfRef(name) || name.startsWith(REMOTES_PREFIX)) continue;
      const findings = await checkRef(cache, name, id);
      yield { ref: name, head: id, thread: null, sound: findings.length === 0, findings };
    }
  }
}

/** Ignores damage, which {@link findDamage} reports. */
const ignored: OnDamage = { damaged: () => undefined };

/** Broken refs of uwf, and damage of the file of packed refs. */
async function findDamage(repository: Repository): Promise<RefVerdict[]> {
  return (await listDamage(repository)).map((damage) => {
    const findings = [{ commit: null, path: null, what: damage.reason }];
    return { ref: damage.ref, head: null, thread: threadOfDamage(damage) ?? null, sound: false, findings };
  });
}

async function checkRef(cache: NodeCache, ref: RefName, head: ObjectId): Promise<Fault[]> {
  const { repository } = cache;
  const isWorkflow = ref.startsWith(WORKFLOWS_PREFIX);
  if (!isWorkflow && !isOurs(ref)) {
    return [{ commit: head, path: null, what: `${ref} is none of uwf's refs` }];
  }
  const findings: Fault[] = [];
  if (ref.startsWith(REMOVED_PREFIX)) {
    const isMark = makeRemovalMark(repository.objects.format).id === head;
    return isMark ? [] : [{ commit: head, path: null, what: 'it is not the mark of a removal' }];
  }
  if (ref === LIST_REF) {
    const what = await findListFault(repository.objects, head);
    return what === undefined ? [] : [{ commit: head, path: null, what }];
  }
  if (ref.startsWith(ENDS_PREFIX)) return findings;
  // Each registration of a workflow has the previous one as parent.
  for (let next: ObjectId | undefined = head; next !== undefined;) {
    const id: ObjectId = next;
    const report = (path: string | null, what: string): void => void findings.push({ commit: id, path, what });
    const commit = await attempt(report, null, () => readCommit(repository.objects, id));
    if (commit) await attempt(report, null, () => checkTree(cache, commit.tree, report));
    next = isWorkflow ? commit?.parents[0] : undefined;
  }
  return findings;
}

/** Tells a ref that uwf makes under `refs/uwf/` from an unknown one. */
function isOurs(ref: RefName): boolean {
  if (ref === LIST_REF || ref.startsWith(ENDS_PREFIX)) return true;
  const [kind, name = '', ...more] = ref.startsWith(UWF_PREFIX) ? ref.slice(UWF_PREFIX.length).split('/') : [];
  if (more.length > 0) return false;
  return (
    ((kind === 'scratch' || kind === 'removed') && isThreadId(name)) ||
    (kind === 'schemas' && isNodeHash(name)) ||
    ref === PINS_REF
  );
}

async function checkTree(cache: NodeCache, tree: ObjectId, report: ReportFault): Promise<void> {
  const { repository } = cache;
  const known = new KnownNodes(cache);
  const nodes = await known.addAll((await readFiles(repository, tree, report)).index, report);
  // An artifact may link to any node of the repository.
  await checkNodes(nodes, combineSources(known, repositoryNodes(repository)), new Set(), report);
}

const PREFIXES: readonly string[] = [ACTIVE_PREFIX, HISTORY_PREFIX, WORKFLOWS_PREFIX, 'refs/uwf/'];

/** Lists the damage of uwf's refs, each once. */
export async function listDamage(repository: Repository): Promise<RefDamage[]> {
  const found = new Map<string, RefDamage>();
  const damaged = (damage: RefDamage): void => {
    if (damage instanceof BrokenPackedRefs || PREFIXES.some((prefix) => damage.ref.startsWith(prefix))) {
      found.set(damage.ref, damage);
    }
  };
  // Lists all refs, because a damaged line of packed-refs may have been any of them.
  await repository.refs.list('refs/', { damaged });
  return [...found.values()];
}
