import { isNodeHash } from '../../cas/node-hash.ts';
import type { NodeHash } from '../../cas/hash.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readCommit } from '../../git/stores/read.ts';
import { objectOf, orNull, stringThat } from '../../shape.ts';
import { mayBeStart } from '../append/commit-message.ts';
import { HeadTable, MANY_THREADS } from '../read/head-table.ts';
import { findStart, type KnownStarts } from '../read/read-start.ts';
import type { ThreadPointer } from './find-thread.ts';

/** Where a thread starts, and the start node of the thread that called it. */
export type ThreadOrigin = { start: ObjectId; parentStart: NodeHash | null };

/** The commits that are remembered before all are forgotten. */
const MAX_STARTS = 10_000;

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
  if (pointers.length <= MANY_THREADS) return pointers;
  const origins = openOrigins(repository);
  const starts: KnownStarts = new Map();
  const possible: ThreadPointer[] = [];
  for (const pointer of pointers) {
    if (starts.size > MAX_STARTS) starts.clear();
    const origin = await originOf(repository, origins, pointer, starts);
    if (origin?.parentStart === parentStart) possible.push(pointer);
  }
  origins.save();
  return possible;
}

/** The origin of a thread: from the cache, or from its commits, and then cached. */
export async function originOf(
  repository: Repository,
  origins: HeadTable<ThreadOrigin>,
  pointer: ThreadPointer,
  starts: KnownStarts = new Map(),
): Promise<ThreadOrigin | undefined> {
  const known = origins.get(pointer);
  if (known !== undefined) return known;
  const found = await findOrigin(repository, pointer, starts);
  if (found !== undefined) origins.set(pointer, found);
  return found;
}

/** The most commits that are read without their nodes. For a longer thread a kept tally may save reading the others. */
const MAX_PASSED = 16;

/**
 * Finds where a thread starts. Of a short one that no other has called the commits alone are read: a child's start has a commit
 * of its caller as parent.
 */
async function findOrigin(
  repository: Repository,
  { id, head }: ThreadPointer,
  starts: KnownStarts,
): Promise<ThreadOrigin | undefined> {
  try {
    for (let next = head, passed = 0; passed < MAX_PASSED && !starts.has(next); passed += 1) {
      const { parents, message } = await readCommit(repository.objects, next);
      const [parent] = parents;
      if (parent === undefined && mayBeStart(message)) return { start: next, parentStart: null };
      if (parent === undefined || mayBeStart(message)) break;
      next = parent;
    }
  } catch {
    // This machine's cached data about the thread may name the start in spite of the damage.
  }
  const start = await findStart(repository, head, starts, id);
  return start && { start: start.id, parentStart: start.node.parentThread };
}
