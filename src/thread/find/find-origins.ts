import { isNodeHash } from '../../cas/node-hash.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { objectOf, orNull, stringThat } from '../../shape.ts';
import { HeadTable } from '../read/head-table.ts';
import { findStart } from '../read/read-start.ts';
import type { ThreadPointer } from './find-thread.ts';

/** Where a thread starts, and the start node of the thread that called it. */
export type ThreadOrigin = { start: ObjectId; parentStart: NodeHash | null };

/** So many threads are read as fast as the table of their origins. */
export const FEW_THREADS = 16;

/** Opens the cached table of the origins of many threads. */
export function openOrigins(repository: Repository): HeadTable<ThreadOrigin> {
  return new HeadTable(
    repository,
    'starts',
    objectOf<ThreadOrigin>({ start: stringThat(isObjectId), parentStart: orNull(isNodeHash) }),
  );
}

/**
 * Leaves out the threads that another start than this one has called, or none, if there are many: each is then read once on
 * this machine. Those that remain need not be its children.
 */
export async function possibleChildren(
  repository: Repository,
  pointers: readonly ThreadPointer[],
  parentStart: NodeHash,
): Promise<readonly ThreadPointer[]> {
  if (pointers.length <= FEW_THREADS) return pointers;
  const origins = openOrigins(repository);
  const possible: ThreadPointer[] = [];
  for (const pointer of pointers) {
    const origin = await originOf(repository, origins, pointer);
    if (origin?.parentStart === parentStart) possible.push(pointer);
  }
  origins.save();
  return possible;
}

/** The origin of a thread: from the cache, or from its commits, and then cached. */
async function originOf(
  repository: Repository,
  origins: HeadTable<ThreadOrigin>,
  pointer: ThreadPointer,
): Promise<ThreadOrigin | undefined> {
  const known = origins.get(pointer);
  if (known !== undefined) return known;
  const start = await findStart(repository, pointer.head);
  if (start === undefined) return undefined;
  const origin = { start: start.id, parentStart: start.node.parentThread };
  origins.set(pointer, origin);
  return origin;
}
