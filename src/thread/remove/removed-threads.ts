import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readDerivedFile, writeDerivedFile } from '../../git/system/derived-file.ts';
import { namesIn } from '../../git/system/names-in.ts';
import { storing } from '../../git/format/object-errors.ts';
import type { Repository } from '../../git/repository.ts';
import { isThreadId, type ThreadId } from '../thread-id.ts';

type Place = Pick<Repository, 'stateDir'>;

const FORM = 'removed 1';

/** The threads that this machine removed, with their refs, so that a fetch does not ask for them. */
export type RemovedThreads = ReadonlyMap<ThreadId, readonly string[]>;

/** Lists the threads that were removed on this machine and not fetched again since. */
export function listRemoved({ stateDir }: Place): RemovedThreads {
  const removed = new Map<ThreadId, readonly string[]>();
  if (stateDir === undefined) return removed;
  for (const thread of namesIn(folder(stateDir))) {
    if (isThreadId(thread)) removed.set(thread, refsIn(join(folder(stateDir), thread)));
  }
  return removed;
}

/**
 * Remembers on this machine that a thread was removed, so that a fetch does not bring it back. Does nothing without a disk.
 *
 * @param refs names of its refs, added to those that are remembered
 * @throws {StorageFull} / {StorageReadOnly}
 */
export function rememberRemoved({ stateDir }: Place, thread: ThreadId, refs: readonly string[]): void {
  if (stateDir === undefined) return;
  const path = join(folder(stateDir), thread);
  const names = new Set([...refsIn(path), ...refs]);
  storing(path, () => writeDerivedFile(path, FORM, [...names].map((name) => `${name}\n`).join('')));
}

/** Forgets that a thread was removed, because the user asked for it again. */
export function forgetRemoved({ stateDir }: Place, thread: ThreadId): void {
  if (stateDir !== undefined) rmSync(join(folder(stateDir), thread), { recursive: true, force: true });
}

function folder(stateDir: string): string {
  return join(stateDir, 'removed');
}

/** Reads the refs of a removed thread. If the file is damaged, a fetch brings objects in vain. */
function refsIn(path: string): string[] {
  return readDerivedFile(path, FORM)?.split('\n').filter(Boolean) ?? [];
}
