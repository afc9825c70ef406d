import type { Repository } from '../../git/repository.ts';
import { assertDataError, nothingForDataError } from '../fault-of.ts';
import type { ThreadId } from '../thread-id.ts';
import { REMOTES_PREFIX, type ThreadPointer } from '../thread-refs.ts';
import { ArchiveList, LIST_REF, pointerOfArchived, type ArchivedThread } from './archive-list.ts';

/** The end of the name of the tracking ref for a remote's archive list. */
const TRACKED_LIST = '/archive/list';

/** Opens the list of the threads that are archived here. */
export async function openArchive({ objects, refs }: Pick<Repository, 'objects' | 'refs'>): Promise<ArchiveList> {
  return new ArchiveList(objects, await refs.read(LIST_REF));
}

/** Which archived threads are searched for. The cost depends on the number of results. */
type WantedArchived = {
  /** The most results. */
  most?: number;
  /** Leaves out ids before `from`, and ids after `until`. */
  from?: string;
  until?: string;
};

/** Finds the archived threads that are here by the first characters of their ids, in the order of their ids. */
export async function findArchived(
  repository: Repository,
  text: string,
  { most = Infinity, from = '', until = '~' }: WantedArchived = {},
): Promise<ThreadPointer[]> {
  const found: ThreadPointer[] = [];
  for await (const line of (await openArchive(repository)).startingWith(text, from)) {
    if (line.id > until || found.length === most) break;
    if (line.place === undefined) found.push(pointerOfArchived(line));
  }
  return found;
}

type ArchivePlace = { thread: ThreadId; remote: string };

/** Finds the repository of an archived thread that this one does not have: the first of {@link archivePlaces}. */
export async function findArchivePlace(repository: Repository, text: string): Promise<ArchivePlace | undefined> {
  for await (const place of archivePlaces(repository, text)) return place;
  return undefined;
}

/** Names the places that have archived a thread, by this repository's list and those of remotes as they were last seen. */
export async function* archivePlaces(repository: Repository, text: string): AsyncGenerator<ArchivePlace, void, void> {
  for await (const { list, remote } of knownLists(repository)) {
    const reading = firstOf(list, text);
    const line = await (remote === undefined ? reading : reading.catch(nothingForDataError));
    const place = line?.place ?? remote;
    if (line !== undefined && place !== undefined) yield { thread: line.id, remote: place };
  }
}

/**
 * Finds the archived threads that are not here, by the same lists, with the first place that has each.
 * @param here the threads that are
 */
export async function findElsewhere(
  repository: Repository,
  here: ReadonlySet<ThreadId>,
): Promise<ReadonlyMap<ThreadId, string>> {
  const found = new Map<ThreadId, string>();
  for await (const { list, remote } of knownLists(repository)) {
    try {
      for await (const { id, place = remote } of list.startingWith('')) {
        if (place !== undefined && !here.has(id) && !found.has(id)) found.set(id, place);
      }
    } catch (error) {
      // What a remote lists may be damaged.
      if (remote === undefined) throw error;
      assertDataError(error);
    }
  }
  return found;
}

/** The list of this repository, and those that remotes had when they were last seen. */
async function* knownLists(repository: Repository): AsyncGenerator<{ list: ArchiveList; remote?: string }, void, void> {
  yield { list: await openArchive(repository) };
  for (const { name, id } of await repository.refs.list(REMOTES_PREFIX, {
    where: (ref) => ref.endsWith(TRACKED_LIST),
  })) {
    if (!name.endsWith(TRACKED_LIST)) continue;
    const remote = name.slice(REMOTES_PREFIX.length, -TRACKED_LIST.length);
    yield { list: new ArchiveList(repository.objects, id), remote };
  }
}

async function firstOf(list: ArchiveList, text: string): Promise<ArchivedThread | undefined> {
  if (text === '') return undefined;
  for await (const line of list.startingWith(text)) return line;
  return undefined;
}
