import { UwfError } from '../errors.ts';
import { isObjectId, type ObjectFormat, type ObjectId } from '../git/format/object-id.ts';
import type { TreeEntry } from '../git/format/objects.ts';
import { parseRefName } from '../git/format/refs.ts';
import type { RefName, Repository } from '../git/repository.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { type ObjectReader, readBlob, readCommit, readTree } from '../git/stores/read.ts';
import { asFault, assertDataError, nothingForDataError } from './thread-errors.ts';
import { HISTORY_PREFIX, isThreadId, REMOTES_PREFIX, type ThreadId, type ThreadPointer } from './thread-id.ts';

/** The list of archived threads. */
export const LIST_REF: RefName = parseRefName('refs/uwf/archive/list');

/** The most lines in a file of the list. */
export const MAX_LINES = 1_000;
export const MAX_PLACE = 2_000;
/** So many of the longest lines fit, whose other words take less than 200 bytes. */
export const MAX_BYTES: number = MAX_LINES * (MAX_PLACE + 200);

/**
 * The date of every list's commit, so that equal lists are the same commit. It is later than that of other commits: git walks
 * commits by date, and to push an old one it would walk all that are newer.
 */
const LIST_MS = Date.UTC(2038, 0, 1);

/** A line of the list. */
export type ArchivedThread = {
  id: ThreadId;
  end: ObjectId;
  /** The UTC day of its end: `2026-11-21`. */
  endedOn: string;
  /** The URL of the repository that has it, if that is another one. */
  place?: string;
};

/** Makes the error for a ref of the archive whose content violates the format. */
export function invalidArchive(id: ObjectId, reason: string): UwfError {
  return new UwfError(`${id} is no list of archived threads: ${reason}`, {
    code: 'invalid-archive',
    kind: 'data',
    hint: 'it was not written by uwf; remove the ref that leads to it',
  });
}

/** The pointer of an archived thread. Its `ref` is the former history ref, which does not exist any more. */
export function pointerOfArchived({ id, end, endedOn }: ArchivedThread): ThreadPointer {
  return { id, ref: parseRefName(`${HISTORY_PREFIX}${endedOn}/${id}`), head: end, isHistory: true, isArchived: true };
}

/** Adds the commit of a list to a batch. */
export function addListCommit(batch: ObjectBatch, tree: ObjectId): ObjectId {
  return batch.addOwnCommit({ tree, parents: [], message: 'archive\n' }, LIST_MS);
}

/**
 * Reads a list of archived threads. It is not trusted, because it may come from a remote.
 *
 * The lines are in files of a tree whose paths are the first characters of the ids, one character a level. Finding a thread
 * takes one tree for each level and one file.
 */
export class ArchiveList {
  readonly #objects: ObjectReader & { format: ObjectFormat };
  readonly #commit: ObjectId | undefined;
  readonly #trees = new Map<ObjectId, TreeEntry[]>();
  readonly #files = new Map<ObjectId, ArchivedThread[]>();

  /** @param commit the commit of the list's ref; `undefined` for an empty list */
  constructor(objects: ObjectReader & { format: ObjectFormat }, commit: ObjectId | undefined) {
    this.#objects = objects;
    this.#commit = commit;
  }

  /** The tree with all lines; `undefined` for an empty list. */
  async tree(): Promise<ObjectId | undefined> {
    if (this.#commit === undefined) return undefined;
    const { tree } = await readCommit(this.#objects, this.#commit);
    if (addListCommit(new ObjectBatch(this.#objects.format), tree) !== this.#commit)
      throw invalidArchive(this.#commit, 'its commit is not written so');
    return tree;
  }

  async find(id: ThreadId): Promise<ArchivedThread | undefined> {
    for await (const line of this.startingWith(id)) return line;
    return undefined;
  }

  /** Yields the threads whose ids begin with a text, in the order of their ids. */
  async *startingWith(text: string): AsyncGenerator<ArchivedThread, void, void> {
    const root = await this.tree();
    if (root === undefined) return;
    for await (const file of this.#filesBelow(root, '', text)) {
      for (const line of file) if (line.id.startsWith(text)) yield line;
    }
  }

  async *#filesBelow(tree: ObjectId, prefix: string, text: string): AsyncGenerator<ArchivedThread[], void, void> {
    for (const { name, mode, id } of await this.#readTree(tree, prefix)) {
      const path = prefix + name;
      if (!path.startsWith(text) && !text.startsWith(path)) continue;
      if (mode === '040000') yield* this.#filesBelow(id, path, text);
      else yield await this.#readFile(id, path);
    }
  }

  async #readTree(id: ObjectId, prefix: string): Promise<TreeEntry[]> {
    const known = this.#trees.get(id) ?? (await readTree(this.#objects, id));
    this.#trees.set(id, known);
    // Otherwise a remote could use one tree in many places, and the list would be endless.
    if (known.length === 0 && prefix !== '') throw invalidArchive(id, 'a folder is empty');
    for (const { name, mode } of known) {
      if (!/^[0-9A-HJKMNP-TV-Z]$/.test(name) || (mode !== '040000' && mode !== '100644') || prefix.length >= 26)
        throw invalidArchive(id, 'an entry is no character of an id');
    }
    return known;
  }

  async #readFile(id: ObjectId, prefix: string): Promise<ArchivedThread[]> {
    let lines = this.#files.get(id);
    if (lines === undefined) {
      const text = Buffer.from(await readBlob(this.#objects, id, { maxBytes: MAX_BYTES })).toString('utf8');
      lines = parseLines(id, text);
      this.#files.set(id, lines);
    }
    if (!lines.every((line) => line.id.startsWith(prefix))) throw invalidArchive(id, 'a line is in the wrong file');
    return lines;
  }
}

/** Reads a whole list. @returns what is not as uwf writes it, or `undefined` */
export async function findListFault(
  objects: ObjectReader & { format: ObjectFormat },
  commit: ObjectId,
): Promise<string | undefined> {
  try {
    const lines = new ArchiveList(objects, commit).startingWith('');
    while (!(await lines.next()).done);
    return undefined;
  } catch (error) {
    return asFault(error);
  }
}

const line =
  /^(?<id>\S+) (?<end>\S+) (?<endedOn>\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))(?: (?<place>[!-~]{1,2000}))?$/;

/** @throws {UwfError} `invalid-archive` unless the lines are as {@link formatLines} writes them */
export function parseLines(file: ObjectId, text: string): ArchivedThread[] {
  const texts = text.split('\n');
  if (texts.pop() !== '' || texts.length === 0 || texts.length > MAX_LINES)
    throw invalidArchive(file, 'a file has no lines, or too many');
  let before = '';
  return texts.map((each) => {
    const { id = '', end = '', endedOn = '', place } = line.exec(each)?.groups ?? {};
    if (!isThreadId(id) || !isObjectId(end) || id <= before)
      throw invalidArchive(file, 'a line is no thread, end and day, or not in order');
    before = id;
    return { id, end, endedOn, ...(place !== undefined && { place }) };
  });
}

export function formatLines(lines: readonly ArchivedThread[]): string {
  return lines
    .map(({ id, end, endedOn, place }) => `${id} ${end} ${endedOn}${place === undefined ? '' : ` ${place}`}\n`)
    .join('');
}

/** Changes by thread: its new line, or `null` to remove it. */
export type ListChanges = ReadonlyMap<ThreadId, ArchivedThread | null>;

/**
 * Adds the trees of a changed list to a batch. Reads and writes only what lies on the paths of the changed lines.
 *
 * A file with too many lines becomes a folder with a file for each next character.
 * @param tree the list's tree before; `undefined` for an empty list
 * @returns the list's tree
 */
export async function editList(
  objects: ObjectReader,
  batch: ObjectBatch,
  tree: ObjectId | undefined,
  changes: ListChanges,
): Promise<ObjectId> {
  const editing = { objects, batch };
  return batch.addTree(await editFolder(editing, tree, '', changes));
}

type Editing = { objects: ObjectReader; batch: ObjectBatch };

async function editFolder(
  editing: Editing,
  before: ObjectId | undefined,
  prefix: string,
  changes: ListChanges,
): Promise<TreeEntry[]> {
  const entries = new Map<string, TreeEntry>();
  if (before) for (const entry of await readTree(editing.objects, before)) entries.set(entry.name, entry);
  const byName = new Map<string, Map<ThreadId, ArchivedThread | null>>();
  for (const [id, change] of changes) {
    const name = id.charAt(prefix.length);
    const group = byName.get(name) ?? new Map<ThreadId, ArchivedThread | null>();
    byName.set(name, group.set(id, change));
  }
  for (const [name, group] of byName) {
    const after = await editEntry(editing, entries.get(name), prefix + name, group);
    if (after === undefined) entries.delete(name);
    else entries.set(name, { name, ...after });
  }
  return [...entries.values()];
}

/** @returns the file or folder; `undefined` if no line is left */
async function editEntry(
  editing: Editing,
  before: TreeEntry | undefined,
  prefix: string,
  changes: ListChanges,
): Promise<Pick<TreeEntry, 'mode' | 'id'> | undefined> {
  const { objects, batch } = editing;
  if (before?.mode === '040000') return folderOf(batch, await editFolder(editing, before.id, prefix, changes));
  const lines = new Map<ThreadId, ArchivedThread>();
  if (before) {
    const text = Buffer.from(await readBlob(objects, before.id)).toString('utf8');
    for (const line of parseLines(before.id, text)) lines.set(line.id, line);
  }
  for (const [id, line] of changes) {
    if (line === null) lines.delete(id);
    else lines.set(id, line);
  }
  if (lines.size === 0) return undefined;
  if (lines.size > MAX_LINES) return folderOf(batch, await editFolder(editing, undefined, prefix, lines));
  const sorted = [...lines.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return { mode: '100644', id: batch.addBlob(formatLines(sorted)) };
}

function folderOf(batch: ObjectBatch, entries: readonly TreeEntry[]): Pick<TreeEntry, 'mode' | 'id'> | undefined {
  return entries.length === 0 ? undefined : { mode: '040000', id: batch.addTree(entries) };
}

/** The end of the name of the tracking ref for a remote's archive list. */
const TRACKED_LIST = '/archive/list';

/** Opens the list of the threads that are archived here. */
export async function openArchive({ objects, refs }: Pick<Repository, 'objects' | 'refs'>): Promise<ArchiveList> {
  return new ArchiveList(objects, await refs.read(LIST_REF));
}

/**
 * Finds the archived threads that are here by the first characters of their ids, in the order of their ids.
 * The cost depends on the number of results: at most `most`.
 */
export async function findArchived(
  repository: Repository,
  text: string,
  most: number = Infinity,
): Promise<ThreadPointer[]> {
  const found: ThreadPointer[] = [];
  for await (const line of (await openArchive(repository)).startingWith(text)) {
    if (found.length === most) break;
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
