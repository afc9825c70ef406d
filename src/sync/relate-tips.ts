import type { Commit } from '../git/commit.ts';
import type { ObjectId } from '../git/object-id.ts';
import { readCommit, type ObjectReader } from '../git/read.ts';

/** How one commit stands to another of the same thread; `by` counts the commits that one has and the other has not. */
export type Relation = { kind: 'same' | 'diverged' } | { kind: 'behind' | 'ahead'; by: number };

/**
 * Tells how a commit of a thread stands to another: on the way to it, beyond it, or beside it.
 *
 * What a poke took the place of counts as on the way. Goes back from both at once and ends where they meet, so that it
 * costs what they differ by and not what they share. Reads commits only.
 * @throws {ObjectMissing} {CorruptObject} if the way back is broken
 */
export async function relateTips(objects: ObjectReader, one: ObjectId, other: ObjectId): Promise<Relation> {
  if (one === other) return { kind: 'same' };
  const here = new WayBack(objects, one);
  const there = new WayBack(objects, other);
  for (;;) {
    // This way first: who asks has mostly gone on from what the other side has.
    const fromThere = await there.next();
    if (there.passed.has(one)) return { kind: 'behind', by: there.countTo(one) };
    if (fromThere !== undefined && here.passed.has(fromThere)) return { kind: 'diverged' };
    const fromHere = await here.next();
    if (here.passed.has(other)) return { kind: 'ahead', by: here.countTo(other) };
    if (fromHere !== undefined && there.passed.has(fromHere)) return { kind: 'diverged' };
    if (fromHere === undefined && fromThere === undefined) return { kind: 'diverged' };
  }
}

/** A walk along first parents that also notes the commits which those on it took the place of. */
class WayBack {
  /** Every commit that was passed or replaced on the way, and the next one, with the number of commits after it. */
  readonly passed: Map<ObjectId, number> = new Map();
  readonly #objects: ObjectReader;
  #at: ObjectId | undefined;
  #length = 0;

  constructor(objects: ObjectReader, tip: ObjectId) {
    this.#objects = objects;
    this.#at = tip;
  }

  async next(): Promise<ObjectId | undefined> {
    const id = this.#at;
    if (id === undefined) return undefined;
    const commit = await readCommit(this.#objects, id);
    this.passed.set(id, this.#length);
    this.#length += 1;
    await this.#noteReplaced(commit);
    const [previous] = commit.parents;
    this.#at = previous;
    if (previous !== undefined && !this.passed.has(previous)) this.passed.set(previous, this.#length);
    return id;
  }

  countTo(id: ObjectId): number {
    return this.passed.get(id) ?? 0;
  }

  /** What was replaced is a further parent that stands on the same commit; children and linked commits do not. */
  async #noteReplaced({ parents: [previous, ...further] }: Commit): Promise<void> {
    if (previous === undefined) return;
    for (const id of further) {
      if (this.passed.has(id)) continue;
      const commit = await readCommit(this.#objects, id);
      if (commit.parents[0] !== previous) continue;
      this.passed.set(id, this.#length);
      await this.#noteReplaced(commit);
    }
  }
}
