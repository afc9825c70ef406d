import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../object-id.ts';
import { readCommit } from '../read.ts';
import type { ObjectReader } from '../read.ts';
import type { RemoteRef } from '../remote.ts';

/** 200 kB of a request. */
const mostHaves = 4_096;
/** So many commits are read to find some that the other side may know too. */
const mostReads = 20_000;

/** What is known on both sides, or on one, when objects are asked for. */
export type Acquaintance = {
  /** Refs of the remote whose commits are wanted. */
  wanted: readonly RemoteRef[];
  /** Commits that both have for sure, the most recent first. */
  common: Iterable<ObjectId>;
  /** What the refs of the same names are here, or were there when last seen. */
  here: ReadonlyMap<string, ObjectId>;
};

/**
 * Chooses the commits by which the other side sees what it need not send.
 *
 * There is one round, so they are all named at once: what both have, and of the local value of a wanted ref that the
 * other side does not have, ancestors at growing distances.
 */
export async function chooseHaves(
  objects: ObjectReader,
  { wanted, common, here }: Acquaintance,
): Promise<ReadonlySet<ObjectId>> {
  const haves = new Set<ObjectId>();
  const sure = new Set<ObjectId>();
  for (const id of common) {
    if (sure.size >= mostHaves) break;
    sure.add(id);
    haves.add(id);
  }
  let reads = mostReads;
  for (const { name } of wanted) {
    const head = here.get(name);
    if (head === undefined || sure.has(head)) continue;
    let next: ObjectId | undefined = head;
    for (let distance = 0, step = 1; next !== undefined && !sure.has(next); distance += 1) {
      if (distance === step || distance === 0) {
        haves.add(next);
        if (distance === step) step *= 2;
      }
      if (reads === 0 || haves.size >= mostHaves * 2) return haves;
      reads -= 1;
      next = await firstParent(objects, next);
    }
    if (next !== undefined) haves.add(next);
  }
  return haves;
}

async function firstParent(objects: ObjectReader, id: ObjectId): Promise<ObjectId | undefined> {
  try {
    return (await readCommit(objects, id)).parents[0];
  } catch (error) {
    // What cannot be read is not had.
    if (error instanceof UwfError) return undefined;
    throw error;
  }
}
