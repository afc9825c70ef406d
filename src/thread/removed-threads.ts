import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readDerivedFile, writeDerivedFile } from '../git/derived-file.ts';
import { namesIn } from '../git/names-in.ts';
import { asStorageError } from '../git/object-errors.ts';
import type { Repository } from '../git/repository.ts';
import { isThreadId, type ThreadId } from './thread-id.ts';

type Place = Pick<Repository, 'stateDir'>;

const FORM = 'removed 1';

/** What this machine removed, and the refs under which it was known: a remote that still has them need not send them. */
export type RemovedThreads = ReadonlyMap<ThreadId, readonly string[]>;

/** The threads that were removed on this machine and have not been asked for since. */
export function listRemoved({ stateDir }: Place): RemovedThreads {
  const removed = new Map<ThreadId, readonly string[]>();
  if (stateDir === undefined) return removed;
  for (const thread of namesIn(folder(stateDir))) {
    if (isThreadId(thread)) removed.set(thread, refsIn(join(folder(stateDir), thread)));
  }
  return removed;
}

/**
 * Remembers on this machine that a thread was removed, so that a fetch does not bring it back.
 *
 * Without a disk nothing is remembered.
 * @param refs names under which it is known, beside those that are remembered already
 * @throws {StorageFull} / {StorageReadOnly}
 */
export function rememberRemoved({ stateDir }: Place, thread: ThreadId, refs: readonly string[]): void {
  if (stateDir === undefined) return;
  const path = join(folder(stateDir), thread);
  const names = new Set([...refsIn(path), ...refs]);
  try {
    writeDerivedFile(path, FORM, [...names].map((name) => `${name}\n`).join(''));
  } catch (error) {
    throw asStorageError(error, path);
  }
}

/** Forgets that a thread was removed: somebody asked for it again. */
export function forgetRemoved({ stateDir }: Place, thread: ThreadId): void {
  if (stateDir !== undefined) rmSync(join(folder(stateDir), thread), { recursive: true, force: true });
}

function folder(stateDir: string): string {
  return join(stateDir, 'removed');
}

/** The name of the file alone says that a thread was removed: of one that is damaged a fetch brings more than it takes in. */
function refsIn(path: string): string[] {
  return readDerivedFile(path, FORM)?.split('\n').filter(Boolean) ?? [];
}
