import type { Repository } from '../../git/repository.ts';
import { type ArchivedThread, type ArchiveList, openArchive } from '../../thread/archive/archive-list.ts';
import { takeOut } from '../../thread/archive/archive-threads.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { resolve, type Selection } from '../fetch/select-refs.ts';
import { ThreadNotThere } from '../refs/list-remote-threads.ts';
import { readSortedRefs, refOfTip, type SortedRefs } from '../refs/sorted-refs.ts';

/** What a fetch does with the threads that a remote has archived. */
export type ArchivedNews = {
  /** Ended threads of this repository that have the same end there. */
  ended: ThreadPointer[];
  /** Threads whose ends are to be fetched: those that the user named, and those that are active here. */
  wanted: ArchivedThread[];
  /** Ids that the user named and that the remote has archived. */
  named: Set<ThreadId>;
};

/**
 * Compares the threads of this repository that no ref of the remote has with the remote's archive.
 *
 * @param mayBeMissing true if the remote may lack a named thread
 * @throws {ThreadNotThere} {UwfError} `ambiguous-thread` if a named thread is unknown or ambiguous
 */
export async function compareWithArchive(
  repository: Repository,
  list: ArchiveList,
  there: SortedRefs,
  { named, unknown }: Selection,
  { remote, mayBeMissing }: { remote: string; mayBeMissing: boolean },
): Promise<ArchivedNews> {
  const news: ArchivedNews = { ended: [], wanted: [], named: new Set() };
  const own = await openArchive(repository);
  const here = await readSortedRefs(repository);
  for (const text of unknown) {
    const found = new Map<ThreadId, ArchivedThread>();
    for await (const line of list.startingWith(text.toUpperCase())) {
      if (found.set(line.id, line).size === 2) break;
    }
    const id = resolve(text, found.keys());
    const line = id && found.get(id);
    if (line === undefined && !mayBeMissing) throw new ThreadNotThere(text, remote);
    if (line === undefined) continue;
    news.named.add(line.id);
    const known = await own.find(line.id);
    const isHere = known?.end === line.end && known.place === undefined;
    if (!isHere && !here.threads.get(line.id)?.some(({ id }) => id === line.end)) news.wanted.push(line);
  }
  if (named.size > 0 || unknown.length > 0) return news;
  for (const [id, [tip]] of here.threads) {
    if (tip === undefined || there.threads.has(id)) continue;
    const line = await list.find(id);
    if (line === undefined) continue;
    if (tip.id !== line.end) news.wanted.push(line);
    else if (tip.endedOn === line.endedOn)
      news.ended.push({ id, ref: refOfTip(id, tip), head: tip.id, isHistory: true });
  }
  return news;
}

/**
 * Takes threads out of the archive here that the remote has removed.
 * @param there the remote's refs
 * @param hadSeen tells whether the remote had the end of a thread when it was last seen
 * @returns the threads that were removed
 */
export async function dropFromArchive(
  repository: Repository,
  there: SortedRefs,
  hadSeen: (line: ArchivedThread) => Promise<boolean>,
): Promise<ArchivedThread[]> {
  const own = await openArchive(repository);
  const removed: ArchivedThread[] = [];
  for (const id of there.removed.keys()) {
    const line = await own.find(id);
    if (line && (await hadSeen(line))) removed.push(line);
  }
  const gone = removed.map(({ id }) => id);
  if (gone.length > 0) await takeOut(repository, gone, { isRestored: false });
  return removed;
}
