import { readCommitNodesOnce, readNodeAt } from '../../cas/commit-nodes.ts';
import type { StoredNode } from '../../cas/node-source.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/object-id.ts';
import { readCommit } from '../../git/read.ts';
import type { RefName } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { payloadOf } from '../../schema/payload-of.ts';
import { listPointers, type ThreadPointer } from '../find-thread.ts';
import { kindOfFile } from '../thread-commit.ts';
import type { ThreadId } from '../thread-id.ts';
import type { SecretPlace, SecretScan } from './secret-scan.ts';

/** What was found in one commit. */
export type ScanFinding = {
  /** The thread by which the commit was met first; `null` for what lies under another ref. */
  thread: ThreadId | null;
  ref: RefName;
  places: readonly SecretPlace[];
  /** Why something could not be looked through. */
  unread?: string;
};

/** What is stored beside threads: what was put and not yet taken in, and registered workflows and types. */
const OTHER_PREFIXES = ['refs/uwf/scratch/', 'refs/uwf/schemas/', 'refs/workflows/'];
const PINS = 'refs/uwf/';

type Place = { ref: RefName; thread: ThreadId | null };

/**
 * Looks for secrets in all that is stored, or in some threads with those that they stand on: callers, and what they called.
 * A finding comes for each commit, the threads in the order of their ids. What threads share is looked through once.
 *
 * @param threads default: all, active and ended, and what lies beside threads
 */
export async function* scanThreads(
  repository: Repository,
  scan: SecretScan,
  threads?: readonly ThreadPointer[],
): AsyncGenerator<ScanFinding, void, void> {
  const passed = new Set<ObjectId>();
  const further: (Place & { id: ObjectId })[] = [];
  for (const { id, ref, head } of threads ?? (await listPointers(repository))) {
    yield* scanChain(repository, scan, head, { ref, thread: id }, passed, further);
  }
  if (threads === undefined) {
    for (const { name, id } of await otherRefs(repository)) {
      yield* scanChain(repository, scan, id, { ref: name, thread: null }, passed, []);
    }
  }
  // Threads without a ref of their own come last, so that each of the others is called by its own id.
  for (let next = further.shift(); next !== undefined; next = further.shift()) {
    yield* scanChain(repository, scan, next.id, next, passed, further);
  }
}

async function otherRefs({ refs }: Repository): Promise<{ name: RefName; id: ObjectId }[]> {
  const found = await Promise.all(OTHER_PREFIXES.map((prefix) => refs.list(prefix)));
  const pins = (await refs.list(PINS)).filter(({ name }) => name === 'refs/uwf/pins');
  return [...found.flat(), ...pins];
}

/** Goes down a thread to its start, or a registry to its first version. */
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
      if (!(error instanceof UwfError) || error.kind !== 'data') throw error;
      yield { ref, thread, places: [], unread: error.message };
      return;
    }
  }
}

type Scanned = { places: SecretPlace[]; previous: ObjectId | undefined; others: ObjectId[] };

async function scanCommit(repository: Repository, scan: SecretScan, id: ObjectId): Promise<Scanned> {
  const { tree, parents } = await readCommit(repository.objects, id);
  const { entries } = await readCommitNodesOnce(repository, id);
  if (entries === undefined) return { places: await scan.scanCode(id), previous: undefined, others: [] };
  const kind = entries.map(({ path }) => kindOfFile(path)).find((found) => found !== undefined);
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
  // What was put stands on what it pins, and the start of a child on its caller.
  const previous = kind === 'start' ? undefined : others.shift();
  return { places, previous, others };
}
