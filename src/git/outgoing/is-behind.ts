import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../object-id.ts';
import { readCommit } from '../read.ts';
import type { ObjectReader } from '../read.ts';

/** Clocks of machines that work on one thread may differ by so much. */
const clockSkewMs = 24 * 60 * 60 * 1000;

/**
 * Tells whether one commit follows another, or is that one.
 *
 * Right after it, as most are, that takes one read. History that is more than a day older than `older` is not looked at.
 */
export async function isBehind(objects: ObjectReader, older: ObjectId, newer: ObjectId): Promise<boolean> {
  if (older === newer) return true;
  const oldest = await timeOf(objects, older);
  if (oldest === undefined) return false;
  const seen = new Set<ObjectId>([newer]);
  let waiting: ObjectId[] = [newer];
  while (waiting.length > 0) {
    const next: ObjectId[] = [];
    for (const id of waiting) {
      const { parents, committer } = await readCommit(objects, id);
      if (parents.includes(older)) return true;
      if (committer.atMs < oldest - clockSkewMs) continue;
      for (const parent of parents) {
        if (!seen.has(parent)) next.push(parent);
        seen.add(parent);
      }
    }
    waiting = next;
  }
  return false;
}

/** `undefined` for a commit that is not here: nothing here can follow it. */
async function timeOf(objects: ObjectReader, id: ObjectId): Promise<number | undefined> {
  try {
    return (await readCommit(objects, id)).committer.atMs;
  } catch (error) {
    if (error instanceof UwfError) return undefined;
    throw error;
  }
}
