import type { ObjectId } from '../format/object-id.ts';
import type { PushEdit } from './remote.ts';

/** The edits of a push in two stages, each a push of its own. */
export type PushStages = {
  /** What creates and moves refs. Empty: all edits can go together. */
  first: readonly PushEdit[];
  /** What deletes refs, if the first stage was made. */
  last: readonly PushEdit[];
  /** Edits of either that nobody asked for: only their failure counts. */
  checks: ReadonlySet<PushEdit>;
};

/**
 * Puts what a push deletes behind what it is to keep.
 *
 * An atomic push is not atomic where the remote cannot check what came, because one of its refs leads to a missing object: it
 * refuses all new values, and makes the deletions. The first stage makes sure that what is deleted has its expected value, and the
 * last one that the remote has what the first one made.
 * @param hasMore whether other deletions follow
 * @param has tells whether a commit is here: git cannot compare a ref with one that is not
 * Source: `execute_commands` in git's builtin/receive-pack.c.
 */
export async function stagesOf(
  edits: readonly PushEdit[],
  hasMore: boolean,
  has: (id: ObjectId) => Promise<boolean>,
): Promise<PushStages> {
  const kept = edits.filter(({ value }) => value !== null);
  const deletions = edits.filter(({ value }) => value === null);
  const isTogether = (deletions.length === 0 && !hasMore) || kept.every(({ value, expected }) => value === expected);
  if (isTogether) return { first: [], last: edits, checks: new Set() };
  const before: PushEdit[] = [];
  for (const { via, ...edit } of deletions) {
    const value = via ?? edit.expected ?? undefined;
    if (value !== undefined && (await has(value))) before.push({ ...edit, value });
  }
  const after = kept.map(({ name, value }): PushEdit => ({ name, value, expected: value }));
  const moved = deletions.map(({ via, ...edit }): PushEdit => (via === undefined ? edit : { ...edit, expected: via }));
  return { first: [...kept, ...before], last: [...after, ...moved], checks: new Set([...before, ...after]) };
}
