import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import { isNodeHash, prepareHashing } from '../cas/hash.ts';
import { combineSources, type StoredNode } from '../cas/node-source.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit } from '../git/read.ts';
import type { RefName } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { threadOfDamage, type OnDamage } from '../thread/find-thread.ts';
import { isThreadId, type ThreadId } from '../thread/thread-id.ts';
import { threadOfRef } from '../thread/thread-refs.ts';
import { checkNodes } from '../thread/verify/check-nodes.ts';
import { attempt, type Finding } from '../thread/verify/finding.ts';
import { KnownNodes, NodeCache } from '../thread/verify/known-nodes.ts';
import { readFiles } from '../thread/verify/read-files.ts';
import { readRecord, REDACTED_PREFIX } from '../thread/redaction-record.ts';
import { WORKFLOWS_PREFIX } from '../workflow/workflow-refs.ts';
import type { EngineContext } from './context.ts';
import { listDamage, PREFIXES } from './list-damage.ts';
import { verifyThreads } from './verify-threads.ts';

/** What was found out about one ref of uwf's. */
export type RefVerdict = {
  /** A name that git may not allow, or `packed-refs`. */
  ref: string;
  /** Null where the ref is damaged. */
  head: ObjectId | null;
  /** The thread that it is the ref of; null for a ref of another kind. */
  thread: ThreadId | null;
  sound: boolean;
  findings: (Omit<Finding, 'commit'> & { commit: ObjectId | null })[];
};

const UWF_PREFIX = 'refs/uwf/';
/** What a fetch has brought is checked when it is taken over. */
const REMOTES_PREFIX = 'refs/uwf/remotes/';

/**
 * Looks at every ref under the names that are uwf's, and at all behind them: threads as {@link verifyThreads} does, what was
 * registered and put as nodes. A ref that none of this is for is a finding, and so is every ref that git calls broken. One
 * damage keeps nothing else from being looked at.
 */
export async function* fsck(context: EngineContext): AsyncGenerator<RefVerdict, void, void> {
  await prepareHashing();
  const { repository } = context;
  yield* await findDamage(repository);
  for await (const { ref, head, thread, sound, findings } of verifyThreads(context, wasTold)) {
    yield { ref, head, thread, sound, findings };
  }
  const cache = new NodeCache(repository);
  for (const prefix of PREFIXES) {
    for (const { name, id } of await repository.refs.list(prefix, wasTold)) {
      if (threadOfRef(name) || name.startsWith(REMOTES_PREFIX)) continue;
      const findings = await checkRef(repository, cache, name, id);
      yield { ref: name, head: id, thread: null, sound: findings.length === 0, findings };
    }
  }
}

/** For listings of what has been looked at for damage. */
const wasTold: OnDamage = { damaged: () => undefined };

/** What git calls broken among the refs that are uwf's, and the file of packed refs. */
async function findDamage(repository: Repository): Promise<RefVerdict[]> {
  return (await listDamage(repository)).map((damage) => {
    const findings = [{ commit: null, path: null, what: damage.reason }];
    return { ref: damage.ref, head: null, thread: threadOfDamage(damage) ?? null, sound: false, findings };
  });
}

async function checkRef(repository: Repository, cache: NodeCache, ref: RefName, head: ObjectId): Promise<Finding[]> {
  const isWorkflow = ref.startsWith(WORKFLOWS_PREFIX);
  if (!isWorkflow && !isOurs(ref)) {
    return [{ commit: head, path: null, what: `${ref} is none of uwf's refs` }];
  }
  const findings: Finding[] = [];
  if (ref.startsWith(REDACTED_PREFIX)) {
    const report = (path: string | null, what: string): void => void findings.push({ commit: head, path, what });
    await attempt(report, null, () => readRecord(repository.objects, head));
    return findings;
  }
  // Each registration of a workflow stands on the one before.
  for (let next: ObjectId | undefined = head; next !== undefined;) {
    const id: ObjectId = next;
    const report = (path: string | null, what: string): void => void findings.push({ commit: id, path, what });
    const commit = await attempt(report, null, () => readCommit(repository.objects, id));
    if (commit) await attempt(report, null, () => checkTree(repository, cache, commit.tree, report));
    next = isWorkflow ? commit?.parents[0] : undefined;
  }
  return findings;
}

/** Tells a ref that uwf makes under `refs/uwf/` from a foreign one. */
function isOurs(ref: RefName): boolean {
  const [kind, name = '', ...more] = ref.startsWith(UWF_PREFIX) ? ref.slice(UWF_PREFIX.length).split('/') : [];
  if (more.length > 0) return false;
  return (
    ((kind === 'scratch' || kind === 'redacted') && isThreadId(name)) ||
    (kind === 'schemas' && isNodeHash(name)) ||
    ref === 'refs/uwf/pins'
  );
}

async function checkTree(
  repository: Repository,
  cache: NodeCache,
  tree: ObjectId,
  report: (path: string | null, what: string) => void,
): Promise<void> {
  const known = new KnownNodes(repository, cache);
  const nodes = new Map<string, StoredNode>();
  for (const entry of (await readFiles(repository, tree, report)).index) {
    const node = await attempt(report, entry.path, () => known.add(entry));
    if (node) nodes.set(entry.path, node);
  }
  // What was put may link to anything there is.
  await checkNodes(nodes, combineSources(known, repositoryNodes(repository)), new Set(), report);
}
