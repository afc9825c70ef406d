import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { storing } from '../git/format/errors.ts';
import { isObjectId, type ObjectFormat, type ObjectId } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import type { RefEdit, RefName, Repository } from '../git/repository.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { namesIn, readDerivedFile, writeDerivedFile } from '../git/system/files.ts';
import { takeOut } from './archive-threads.ts';
import { NoRefOfItsOwn } from './thread-errors.ts';
import { activeRef, isThreadId, REMOTES_PREFIX, scratchRef, type ThreadId, type ThreadPointer } from './thread-id.ts';

/**
 * Removes a thread from this repository: deletes its refs, its artifacts' ref and its tracking refs, and what this machine
 * keeps of it (journal, facts, sessions). Git collects its objects, unless another thread shares them. This machine
 * remembers the removal, so that a fetch does not bring the thread back.
 * @throws {RefMoved} if it was written to in the meantime; nothing is removed then
 * @throws {NoRefOfItsOwn} if it is here only as a part of another thread
 */
export async function removeThread(repository: Repository, thread: ThreadPointer): Promise<void> {
  await removeThreads(repository, [thread]);
}

/**
 * Removes several threads in one transaction, because each change of packed refs rewrites all of them.
 * @param others changes of other refs that are made in the same transaction
 */
export async function removeThreads(
  repository: Repository,
  threads: readonly ThreadPointer[],
  others: readonly RefEdit[] = [],
): Promise<void> {
  const fetched = await repository.refs.list(REMOTES_PREFIX);
  const edits: RefEdit[] = [...others];
  for (const { id, ref, head, keptBy, isArchived } of threads) {
    if (keptBy !== undefined) throw new NoRefOfItsOwn(id, keptBy);
    if (!isArchived) edits.push({ name: ref, expected: head, value: null });
    for (const name of [activeRef(id), scratchRef(id)]) {
      const value = name === ref ? undefined : await repository.refs.read(name);
      if (value !== undefined) edits.push({ name, expected: value, value: null });
    }
    for (const other of fetched) {
      // The remote's removal mark stays.
      if (!other.name.endsWith(`/${id}`) || other.name.endsWith(`/removed/${id}`)) continue;
      edits.push({ name: other.name, expected: other.id, value: null });
    }
    // Before the refs are deleted: the note about a thread that still exists has no effect.
    rememberRemoved(repository, id, [activeRef(id), ref, head]);
  }
  const ids = threads.map(({ id }) => id);
  await takeOut(repository, ids, { isRestored: false, others: edits });
  for (const id of ids) forgetThread(repository, id);
}

/** Removal marks: a ref for each removed thread. A thread with a mark is not pushed, and a fetch does not bring it. */
export const REMOVED_PREFIX = 'refs/uwf/removed/';

export function removedRef(thread: ThreadId): RefName {
  return parseRefName(REMOVED_PREFIX + thread);
}

/**
 * The commit of every removal mark. It has no files, no parents and no time, so it is the same on every machine and tells
 * nothing about the thread.
 */
export function makeRemovalMark(format: ObjectFormat): { id: ObjectId; batch: ObjectBatch } {
  const batch = new ObjectBatch(format);
  return { id: batch.addOwnCommit({ tree: batch.addTree([]), parents: [], message: 'removed\n' }, 0), batch };
}

type Place = Pick<Repository, 'stateDir'>;

const FORM = 'removed 1';

/** The threads that this machine removed, with their refs, so that a fetch does not ask for them. */
export type RemovedThreads = ReadonlyMap<ThreadId, readonly string[]>;

/** Lists the threads that were removed on this machine and not fetched again since, and those that have a mark here. */
export async function listRemoved({ stateDir, refs }: Pick<Repository, 'stateDir' | 'refs'>): Promise<RemovedThreads> {
  const removed = new Map<ThreadId, readonly string[]>();
  for (const { name } of await refs.list(REMOVED_PREFIX)) {
    const thread = name.slice(REMOVED_PREFIX.length);
    if (isThreadId(thread)) removed.set(thread, []);
  }
  if (stateDir === undefined) return removed;
  for (const thread of namesIn(folder(stateDir))) {
    if (isThreadId(thread)) removed.set(thread, refsIn(join(folder(stateDir), thread)));
  }
  return removed;
}

/** The heads at which a thread was removed on this machine, as far as it remembers. */
export function headsOfRemoved({ stateDir }: Place, thread: ThreadId): ObjectId[] {
  return stateDir === undefined ? [] : linesIn(join(folder(stateDir), thread)).filter(isObjectId);
}

/**
 * Remembers on this machine that a thread was removed, so that a fetch does not bring it back. Does nothing without a disk.
 * @param more names of its refs, and its head, added to those that are remembered
 */
export function rememberRemoved({ stateDir }: Place, thread: ThreadId, more: readonly string[]): void {
  if (stateDir === undefined) return;
  const path = join(folder(stateDir), thread);
  const lines = new Set([...linesIn(path), ...more]);
  storing(path, () => writeDerivedFile(path, FORM, [...lines].map((line) => `${line}\n`).join('')));
}

/** Forgets that a thread was removed, because the user asked for it again. */
export function forgetRemoved({ stateDir }: Place, thread: ThreadId): void {
  if (stateDir !== undefined) rmSync(join(folder(stateDir), thread), { recursive: true, force: true });
}

function folder(stateDir: string): string {
  return join(stateDir, 'removed');
}

function refsIn(path: string): string[] {
  return linesIn(path).filter((line) => !isObjectId(line));
}

/** Reads what is remembered of a removed thread. If the file is damaged, a fetch brings objects in vain. */
function linesIn(path: string): string[] {
  return readDerivedFile(path, FORM)?.split('\n').filter(Boolean) ?? [];
}

/** A file or folder of this machine's data about a thread, beside its refs. */
type LocalTrace = { thread: ThreadId; path: string };

/** The folders of sessions, journals, running steps, open turns, verdicts and background logs. All names begin with the id of a thread. */
const folders = ['sessions', 'journal', 'steps', 'turns', 'corrupt', 'log'];
const idLength = 26;

/** Removes this machine's data about a removed thread: its journal, sessions, folders of steps, a turn. */
export function forgetThread({ stateDir }: Repository, thread: ThreadId): void {
  if (stateDir === undefined) return;
  const places = [...folders, 'pending'].map((folder) => join(stateDir, folder));
  for (const trace of places.flatMap(tracesIn)) {
    if (trace.thread === thread) rmSync(trace.path, { recursive: true, force: true });
  }
}

/**
 * Lists this machine's data about all threads, also about those that do not exist any more. Pending turns are left out: they can
 * still be read if the ref of their thread was lost.
 */
export function listLocalTraces(stateDir: string): LocalTrace[] {
  return folders.map((folder) => join(stateDir, folder)).flatMap(tracesIn);
}

function tracesIn(folder: string): LocalTrace[] {
  return namesIn(folder).flatMap((name) => {
    const thread = name.slice(0, idLength);
    return isThreadId(thread) ? [{ thread, path: join(folder, name) }] : [];
  });
}
