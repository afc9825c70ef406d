import type { ObjectId } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import type { Ref, RefEdit, RefName, Repository } from '../git/repository.ts';
import { againIfMoved, ObjectBatch, publish } from '../git/stores/publish.ts';
import { type ObjectReader, readCommit } from '../git/stores/read.ts';
import {
  addListCommit,
  type ArchivedThread,
  ArchiveList,
  editList,
  LIST_REF,
  pointerOfArchived,
} from './archive-list.ts';
import { foldEnded } from './thread-verbs.ts';
import { listPointers } from './find-thread.ts';
import { nothingForDataError } from './thread-errors.ts';
import { ACTIVE_PREFIX, dayOfEnd, type ThreadId, threadOfRef, type ThreadPointer, utcDate } from './thread-id.ts';

/** The most threads in one transaction: it holds the locks of all their refs, and rewrites all packed refs. */
const MAX_TOGETHER = 5_000;
const MAX_TRIES = 20;

type ArchiveOptions = {
  /** The URL of the repository that has them, if this one will not keep them. */
  place?: string;
  onProgress?: ((line: string) => void) | undefined;
};

/**
 * Moves ended threads into the archive of this repository. One transaction lists some of them and deletes their history refs,
 * each under its expected value: a process that is killed leaves each thread under its ref, in the archive, or in both.
 * @param threads with history refs
 * @returns those that were archived; a thread whose ref has changed, or whose id is archived with another end, is left out
 * @throws {RefMoved} {RefLocked} {StorageFull} {StorageReadOnly} as the stores do; threads that were done by then stay so
 */
export async function archiveThreads(
  repository: Repository,
  threads: readonly ThreadPointer[],
  options: ArchiveOptions = {},
): Promise<ThreadPointer[]> {
  const done: ThreadPointer[] = [];
  await finishEndings(repository, threads);
  const sorted = threads.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  for (let at = 0; at < sorted.length; at += MAX_TOGETHER) {
    const some = sorted.slice(at, at + MAX_TOGETHER);
    done.push(...(await againIfMoved(MAX_TRIES, () => archiveSome(repository, some, options))));
    options.onProgress?.(`archived ${done.length} of ${threads.length} threads`);
  }
  return done;
}

/** Deletes active refs that an interrupted ending has left: with them, the archived threads would be active again. */
async function finishEndings(repository: Repository, threads: readonly ThreadPointer[]): Promise<void> {
  const active = new Set((await repository.refs.list(ACTIVE_PREFIX)).map(({ name }) => threadOfRef(name)?.id));
  for (const thread of threads) if (active.has(thread.id)) await foldEnded(repository, thread);
}

async function archiveSome(
  repository: Repository,
  threads: readonly ThreadPointer[],
  { place }: ArchiveOptions,
): Promise<ThreadPointer[]> {
  const { objects, refs } = repository;
  const before = await refs.read(LIST_REF);
  const list = new ArchiveList(objects, before);
  const changes = new Map<ThreadId, ArchivedThread>();
  const done: ThreadPointer[] = [];
  for (const thread of threads) {
    const { id, ref, head } = thread;
    const known = await list.find(id);
    if ((await refs.read(ref)) !== head || (known !== undefined && known.end !== head)) continue;
    done.push(thread);
    const isHere = known !== undefined && known.place === undefined;
    if (isHere || (place !== undefined && known?.place === place)) continue;
    changes.set(id, { id, end: head, endedOn: dayOfEnd(ref), ...(place !== undefined && { place }) });
  }
  const batch = new ObjectBatch(objects.format);
  const edits: RefEdit[] = done.map(({ ref, head }) => ({ name: ref, expected: head, value: null }));
  if (changes.size > 0) {
    const value = addListCommit(batch, await editList(objects, batch, await list.tree(), changes));
    edits.push({ name: LIST_REF, expected: before ?? null, value });
    const ends = [...changes.values()].map(({ end }) => end);
    if (place === undefined) edits.push(await keepEnds(repository, batch, ends));
  }
  if (edits.length > 0) await publish(repository, batch, edits);
  return done;
}

async function keepEnds(repository: Repository, batch: ObjectBatch, ends: readonly ObjectId[]): Promise<RefEdit> {
  const [chain] = await repository.refs.list(ENDS_PREFIX);
  const value = addEnds(batch, chain?.id, ends, repository.now());
  if (value === undefined) throw new Error('there is no end to keep');
  return { name: chain?.name ?? endsRef(value), expected: chain?.id ?? null, value };
}

/**
 * Finds the threads with history refs that ended before a time. One whose end cannot be read is left out: git could not collect
 * garbage if the archive led to it.
 * @param onProgress receives the number of threads checked so far
 */
export async function findArchivable(
  repository: Repository,
  beforeMs: number,
  onProgress?: (line: string) => void,
): Promise<ThreadPointer[]> {
  const found: ThreadPointer[] = [];
  const lastDay = utcDate(Math.max(0, beforeMs - 1));
  const ended = (await listPointers(repository, { history: true })).filter(({ ref }) => dayOfEnd(ref) <= lastDay);
  for (const [at, pointer] of ended.entries()) {
    const end = await readCommit(repository.objects, pointer.head).catch(nothingForDataError);
    if (end !== undefined && end.committer.atMs < beforeMs) found.push(pointer);
    if (at % 5_000 === 4_999) onProgress?.(`looked at ${at + 1} of ${ended.length} ended threads`);
  }
  return found;
}

/**
 * Takes threads out of the archive of this repository in one transaction. Threads that are not archived are left out.
 * @param others changes of other refs that are made in the same transaction
 * @param isRestored whether they get their history refs back; otherwise git collects what only they led to
 */
export async function takeOut(
  repository: Repository,
  threads: readonly ThreadId[],
  { isRestored, others = [] }: { isRestored: boolean; others?: readonly RefEdit[] },
): Promise<void> {
  await againIfMoved(MAX_TRIES, async () => {
    const { objects, refs } = repository;
    const before = await refs.read(LIST_REF);
    const list = new ArchiveList(objects, before);
    const ends = new Set<ObjectId>();
    const changes = new Map<ThreadId, null>();
    const edits: RefEdit[] = [...others];
    for (const id of threads) {
      const line = await list.find(id);
      if (line === undefined) continue;
      changes.set(id, null);
      if (line.place !== undefined) continue;
      ends.add(line.end);
      if (isRestored) edits.push({ name: pointerOfArchived(line).ref, expected: null, value: line.end });
    }
    const batch = new ObjectBatch(objects.format);
    if (before !== undefined && changes.size > 0) {
      const value = addListCommit(batch, await editList(objects, batch, await list.tree(), changes));
      edits.push({ name: LIST_REF, expected: before, value });
      edits.push(...(await withoutEnds(objects, batch, await refs.list(ENDS_PREFIX), ends, repository.now())).edits);
    }
    if (edits.length > 0) await publish(repository, batch, edits);
  });
}

/** The refs that keep the ends of archived threads reachable. Only git reads their commits. */
export const ENDS_PREFIX = 'refs/uwf/archive/ends/';

/** The most ends that one commit has as parents: git reads all of them when it reads the commit. */
const MAX_ENDS = 250;

/**
 * Adds commits to a batch that have ends as parents, in a chain along first parents.
 * @param previous the newest commit of the chain before; `undefined` for a new chain
 * @returns the newest commit; `previous` if there are no ends
 */
export function addEnds(
  batch: ObjectBatch,
  previous: ObjectId | undefined,
  ends: readonly ObjectId[],
  atMs: number,
): ObjectId | undefined {
  const tree = batch.addTree([]);
  let tip = previous;
  for (let at = 0; at < ends.length; at += MAX_ENDS) {
    const parents = [...(tip === undefined ? [] : [tip]), ...ends.slice(at, at + MAX_ENDS)];
    tip = batch.addOwnCommit({ tree, parents, message: 'archive\n' }, atMs);
  }
  return tip;
}

/** Yields the ends that a chain keeps, the newest first. */
export async function* readEnds(objects: ObjectReader, tip: ObjectId): AsyncGenerator<ObjectId, void, void> {
  const { tree } = await readCommit(objects, tip);
  for (let at: ObjectId | undefined = tip; at !== undefined;) {
    const { parents }: { parents: ObjectId[] } = await readCommit(objects, at);
    const [first, ...others] = parents;
    // The tree of these commits is empty; that of an end is not.
    const isChain = first !== undefined && (await readCommit(objects, first)).tree === tree;
    yield* isChain ? others : parents;
    at = isChain ? first : undefined;
  }
}

/** The edits that take ends out of chains, which are written anew, and the ends that were in them. */
type WithoutEnds = { edits: RefEdit[]; found: Set<ObjectId> };

/** Takes ends out of the chains that have them. */
export async function withoutEnds(
  objects: ObjectReader,
  batch: ObjectBatch,
  chains: readonly Ref[],
  gone: ReadonlySet<ObjectId>,
  atMs: number,
): Promise<WithoutEnds> {
  const result: WithoutEnds = { edits: [], found: new Set() };
  if (gone.size === 0) return result;
  for (const { name, id } of chains) {
    const ends: ObjectId[] = [];
    for await (const end of readEnds(objects, id)) ends.push(end);
    const kept = ends.filter((end) => !gone.has(end)).toReversed();
    if (kept.length === ends.length) continue;
    for (const end of ends) if (gone.has(end)) result.found.add(end);
    result.edits.push({ name, expected: id, value: addEnds(batch, undefined, kept, atMs) ?? null });
  }
  return result;
}

/** The ref of a new chain, named after a commit of it. */
export function endsRef(tip: ObjectId): RefName {
  return parseRefName(ENDS_PREFIX + tip.slice(0, 16));
}
