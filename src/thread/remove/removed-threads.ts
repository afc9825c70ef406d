import { ObjectBatch } from '../../git/stores/object-batch.ts';
import { isObjectId, type ObjectFormat, type ObjectId } from '../../git/format/object-id.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { RefName } from '../../git/ref-store.ts';
import { isThreadId, type ThreadId } from '../thread-id.ts';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readDerivedFile, writeDerivedFile } from '../../git/system/derived-file.ts';
import { namesIn } from '../../git/system/names-in.ts';
import { storing } from '../../git/format/object-errors.ts';
import type { Repository } from '../../git/repository.ts';

/** Removal marks: a ref for each removed thread. A thread with a mark is not pushed, and a fetch does not bring it. */
export const REMOVED_PREFIX = 'refs/uwf/removed/';

/** The ref of a thread's removal mark. */
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
 *
 * @param more names of its refs, and its head, added to those that are remembered
 * @throws {StorageFull} / {StorageReadOnly}
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
