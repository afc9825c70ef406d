import { findListFault, LIST_REF } from '../thread/archive/archive-list.ts';
import { ENDS_PREFIX } from '../thread/archive/archive-threads.ts';
import { repositoryNodes } from '../cas/lookup/repository-nodes.ts';
import { isNodeHash, prepareHashing } from '../cas/hash.ts';
import { combineSources } from '../cas/node-source.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { readCommit } from '../git/stores/read.ts';
import type { RefName } from '../git/ref-store.ts';
import type { Repository } from '../git/repository.ts';
import { type OnDamage, threadOfDamage } from '../thread/find-thread.ts';
import { isThreadId, PINS_REF, REMOTES_PREFIX, type ThreadId, threadOfRef } from '../thread/thread-id.ts';
import { checkNodes } from './commit/check-nodes.ts';
import { attempt, type Fault, type ReportFault } from './fault.ts';
import { KnownNodes, NodeCache } from './chain/known-nodes.ts';
import { readFiles } from './commit/read-files.ts';
import { makeRemovalMark, REMOVED_PREFIX } from '../thread/remove-thread.ts';
import { WORKFLOWS_PREFIX } from '../workflow/registry/workflow-refs.ts';
import { listDamage, PREFIXES } from './list-damage.ts';
import { verifyThreads, type VerifyContext } from './verify-threads.ts';

/** The result for one ref. */
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
