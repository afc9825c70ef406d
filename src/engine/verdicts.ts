import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { readDerivedFile, tryToWriteDerivedFile } from '../git/derived-file.ts';
import { namesIn } from '../git/names-in.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadPointer } from '../thread/find-thread.ts';

type Place = Pick<ThreadPointer, 'id' | 'head'>;

const FORM = 'corrupt 1';
/** What is said of a corrupt thread without the words that are kept of it, which damage may have changed. */
export const FOUND_CORRUPT = "it was found corrupt; 'uwf thread verify' says where";

/**
 * The threads that were found corrupt at a head, which its own bytes need not show.
 *
 * Read once for many threads. The name of a file says which thread and which head, so that damage of its content costs the
 * words alone.
 */
export function listCorrupt({ stateDir }: Repository): ReadonlySet<string> {
  return new Set(stateDir === undefined ? [] : namesIn(join(stateDir, 'corrupt')));
}

/** What was found wrong with a thread at this head; `undefined` if nothing was. */
export function findVerdict(repository: Repository, place: Place, corrupt: ReadonlySet<string>): string | undefined {
  const path = corrupt.has(nameOf(place)) ? pathOf(repository, place) : undefined;
  return path === undefined ? undefined : (readDerivedFile(path, FORM) ?? FOUND_CORRUPT);
}

/** Remembers what was found wrong with a thread, or that nothing was. */
export function rememberVerdict(repository: Repository, place: Place, what: string | undefined): void {
  const path = pathOf(repository, place);
  if (path === undefined) return;
  if (what !== undefined) tryToWriteDerivedFile(path, FORM, what);
  else if (listCorrupt(repository).has(nameOf(place))) rmSync(path, { recursive: true, force: true });
}

function pathOf({ stateDir }: Repository, place: Place): string | undefined {
  return stateDir === undefined ? undefined : join(stateDir, 'corrupt', nameOf(place));
}

function nameOf({ id, head }: Place): string {
  return `${id}-${head}`;
}
