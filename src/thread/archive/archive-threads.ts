import { ObjectBatch } from '../../git/stores/object-batch.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { RefEdit } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { againIfMoved, publish } from '../../git/stores/publish.ts';
import { foldEnded } from '../append/finish-ending.ts';
import type { ThreadId } from '../thread-id.ts';
import { ACTIVE_PREFIX, dayOfEnd, threadOfRef, type ThreadPointer } from '../thread-refs.ts';
import { addListCommit, ArchiveList, LIST_REF, type ArchivedThread } from './archive-list.ts';
import { editList } from './edit-list.ts';
import { addEnds, ENDS_PREFIX, endsRef } from './kept-ends.ts';

/** The most threads in one transaction: it holds the locks of all their refs, and rewrites all packed refs. */
const MAX_TOGETHER = 5_000;
const MAX_TRIES = 20;

/** How threads are archived. */
export type ArchiveOptions = {
  /** The URL of the repository that has them, if this one will not keep them. */
  place?: string;
  onProgress?: ((line: string) => void) | undefined;
};

/**
 * Moves ended threads into the archive of this repository. One transaction lists some of them and deletes their history refs,
 * each under its expected value: a process that is killed leaves each thread under its ref, in the archive, or in both.
 *
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
