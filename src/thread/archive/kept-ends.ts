import type { ObjectId } from '../../git/format/object-id.ts';
import { parseRefName } from '../../git/format/ref-name.ts';
import type { Ref, RefEdit, RefName } from '../../git/ref-store.ts';
import type { ObjectBatch } from '../../git/stores/object-batch.ts';
import { readCommit, type ObjectReader } from '../../git/stores/read.ts';

/** The refs that keep the ends of archived threads reachable. Only git reads their commits. */
export const ENDS_PREFIX = 'refs/uwf/archive/ends/';

/** The most ends that one commit has as parents: git reads all of them when it reads the commit. */
const MAX_ENDS = 250;

/**
 * Adds commits to a batch that have ends as parents, in a chain along first parents.
 * @param previous the newest commit of the chain before; `undefined` for a new chain
 * @returns the newest commit; `previous` if there are no ends
 */
export function addEnds(
  batch: ObjectBatch,
  previous: ObjectId | undefined,
  ends: readonly ObjectId[],
  atMs: number,
): ObjectId | undefined {
  const tree = batch.addTree([]);
  let tip = previous;
  for (let at = 0; at < ends.length; at += MAX_ENDS) {
    const parents = [...(tip === undefined ? [] : [tip]), ...ends.slice(at, at + MAX_ENDS)];
    tip = batch.addOwnCommit({ tree, parents, message: 'archive\n' }, atMs);
  }
  return tip;
}

/** Yields the ends that a chain keeps, the newest first. */
export async function* readEnds(objects: ObjectReader, tip: ObjectId): AsyncGenerator<ObjectId, void, void> {
  const { tree } = await readCommit(objects, tip);
  for (let at: ObjectId | undefined = tip; at !== undefined;) {
    const { parents }: { parents: ObjectId[] } = await readCommit(objects, at);
    const [first, ...others] = parents;
    // The tree of these commits is empty; that of an end is not.
    const isChain = first !== undefined && (await readCommit(objects, first)).tree === tree;
    yield* isChain ? others : parents;
    at = isChain ? first : undefined;
  }
}

/** The edits that take ends out of chains, which are written anew, and the ends that were in them. */
export type WithoutEnds = { edits: RefEdit[]; found: Set<ObjectId> };

/** Takes ends out of the chains that have them. */
export async function withoutEnds(
  objects: ObjectReader,
  batch: ObjectBatch,
  chains: readonly Ref[],
  gone: ReadonlySet<ObjectId>,
  atMs: number,
): Promise<WithoutEnds> {
  const result: WithoutEnds = { edits: [], found: new Set() };
  if (gone.size === 0) return result;
  for (const { name, id } of chains) {
    const ends: ObjectId[] = [];
    for await (const end of readEnds(objects, id)) ends.push(end);
    const kept = ends.filter((end) => !gone.has(end)).toReversed();
    if (kept.length === ends.length) continue;
    for (const end of ends) if (gone.has(end)) result.found.add(end);
    result.edits.push({ name, expected: id, value: addEnds(batch, undefined, kept, atMs) ?? null });
  }
  return result;
}

/** The ref of a new chain, named after a commit of it. */
export function endsRef(tip: ObjectId): RefName {
  return parseRefName(ENDS_PREFIX + tip.slice(0, 16));
}
