import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, readDerivedFile, tryToWriteDerivedFile } from '../git/system/files.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadPointer } from '../thread/thread-id.ts';

type Place = Pick<ThreadPointer, 'id' | 'head'>;

const FORM = 'corrupt 1';
/** The message for a corrupt thread whose stored message is damaged. */
export const FOUND_CORRUPT = "it was found corrupt; 'uwf thread verify' says where";

/**
 * Lists the threads that were found corrupt at a head. Reading the head alone may not show it.
 *
 * The name of each file has the thread and the head, so a damaged content loses only the message.
 */
export function listCorrupt({ stateDir }: Repository): ReadonlySet<string> {
  return new Set(stateDir === undefined ? [] : namesIn(join(stateDir, 'corrupt')));
}

/** Returns what was found wrong with a thread at this head, or `undefined`. */
export function findVerdict(repository: Repository, place: Place, corrupt: ReadonlySet<string>): string | undefined {
  const path = corrupt.has(nameOf(place)) ? pathOf(repository, place) : undefined;
  return path === undefined ? undefined : (readDerivedFile(path, FORM) ?? FOUND_CORRUPT);
}

/** Stores what was found wrong with a thread, or deletes that if nothing was. */
export function rememberVerdict(
  repository: Repository,
  place: Place,
  what: string | undefined,
  corrupt: ReadonlySet<string>,
): void {
  const path = pathOf(repository, place);
  if (path === undefined) return;
  if (what !== undefined) tryToWriteDerivedFile(path, FORM, what);
  else if (corrupt.has(nameOf(place))) rmSync(path, { recursive: true, force: true });
}

function pathOf({ stateDir }: Repository, place: Place): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, 'corrupt', nameOf(place));
}

function nameOf({ id, head }: Place): string {
  return `${id}-${head}`;
}
