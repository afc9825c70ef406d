import { readCommitNodesOnce, readNodeAt } from '../../cas/commit-nodes.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { assertDataError } from '../fault-of.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit } from '../../git/stores/read.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { EVERYWHERE, listPointers } from '../find/find-thread.ts';
import type { ThreadPointer } from '../thread-refs.ts';
import { PINS_REF } from '../thread-refs.ts';
import { findEventFile } from '../thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import type { SecretPlace, SecretScan } from './secret-scan.ts';

/** What was found in one commit. */
export type ScanFinding = {
  /** The first thread that has the commit; `null` for other refs. */
  thread: ThreadId | null;
  ref: RefName;
  places: readonly SecretPlace[];
  /** Why something could not be scanned. */
  unread?: string;
};

/** Other refs: artifacts that no step has taken in, registered workflows and types. */
const OTHER_PREFIXES = ['refs/uwf/scratch/', 'refs/uwf/schemas/', 'refs/workflows/'];

type Place = { ref: RefName; thread: ThreadId | null };

/**
 * Scans everything that is stored for secrets, or some threads with their callers and children. Yields a result for each
 * commit, threads in the order of their ids. Shared commits are scanned once.
 *
 * @param threads default: all threads, and the other refs
 */
export async function* scanThreads(
  repository: Repository,
  scan: SecretScan,
  threads?: readonly ThreadPointer[],
): AsyncGenerator<ScanFinding, void, void> {
  const passed = new Set<ObjectId>();
  const further: (Place & { id: ObjectId })[] = [];
  for (const { id, ref, head } of threads ?? (await listPointers(repository, EVERYWHERE))) {
    yield* scanChain(repository, scan, head, { ref, thread: id }, passed, further);
  }
  if (threads === undefined) {
    for (const { name, id } of await otherRefs(repository)) {
      yield* scanChain(repository, scan, id, { ref: name, thread: null }, passed, []);
    }
  }
  // Threads without a ref come last, so that every other thread is reported under its own id.
  for (let next = further.shift(); next !== undefined; next = further.shift()) {
    yield* scanChain(repository, scan, next.id, next, passed, further);
  }
}

async function otherRefs({ refs }: Repository): Promise<{ name: RefName; id: ObjectId }[]> {
  const found = await Promise.all(OTHER_PREFIXES.map((prefix) => refs.list(prefix)));
  const pins = await refs.read(PINS_REF);
  return [...found.flat(), ...(pins === undefined ? [] : [{ name: PINS_REF, id: pins }])];
}

/** Scans a thread down to its start, or a registry down to its first version. */
async function* scanChain(
  repository: Repository,
  scan: SecretScan,
  from: ObjectId,
  { ref, thread }: Place,
  passed: Set<ObjectId>,
  further: (Place & { id: ObjectId })[],
): AsyncGenerator<ScanFinding, void, void> {
  for (let at: ObjectId | undefined = from; at !== undefined && !passed.has(at);) {
    passed.add(at);
    try {
      const { places, previous, others } = await scanCommit(repository, scan, at);
      further.push(...others.map((id) => ({ id, ref, thread })));
      yield { ref, thread, places };
      at = previous;
    } catch (error) {
      assertDataError(error);
      yield { ref, thread, places: [], unread: error.message };
      return;
    }
  }
}

/** Scans what one commit adds, of a thread or of code. */
export async function scanOneCommit(repository: Repository, scan: SecretScan, id: ObjectId): Promise<SecretPlace[]> {
  return (await scanCommit(repository, scan, id)).places;
}

type Scanned = { places: SecretPlace[]; previous: ObjectId | undefined; others: ObjectId[] };

async function scanCommit(repository: Repository, scan: SecretScan, id: ObjectId): Promise<Scanned> {
  const { tree, parents } = await readCommit(repository.objects, id);
  const { entries } = await readCommitNodesOnce(repository, id);
  if (entries === undefined) return { places: await scan.scanCode(id), previous: undefined, others: [] };
  const kind = findEventFile(entries)?.kind;
  const others: ObjectId[] = [];
  const code: ObjectId[] = [];
  for (const parent of parents) {
    const isOwn = (await readCommitNodesOnce(repository, parent)).entries !== undefined;
    (isOwn ? others : code).push(parent);
  }
  const nodes: (readonly [string, StoredNode])[] = [];
  for (const entry of entries) nodes.push([entry.path, await readNodeAt(repository, entry)]);
  const own = nodes.find(([path]) => path === 'step.json')?.[1];
  const step = own === undefined ? null : payloadOf(own, 'thread-step').number;
  const places = await scan.scanCommit({ id, tree, step, nodes, code });
  // The parents of an artifact commit are pinned commits; the parent of a child's start is its caller.
  const previous = kind === 'start' ? undefined : others.shift();
  return { places, previous, others };
}
