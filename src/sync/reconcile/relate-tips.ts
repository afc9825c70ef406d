import type { Commit } from '../../git/format/commit.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { readCommit, type ObjectReader } from '../../git/stores/read.ts';

/** The relation of one commit to another of the same thread; `by` counts the commits that only one of them has. */
export type Relation = { kind: 'same' | 'diverged' } | { kind: 'behind' | 'ahead'; by: number };

/**
 * Returns the relation of two commits of a thread: `behind` if the first is an ancestor of the second, `ahead` if it is a
 * descendant, else `diverged`.
 *
 * A step that was replaced by a poke counts as an ancestor. Walks back from both commits at once until the walks meet, so
 * the cost depends on their difference, not on their common history. Reads commits only.
 * @throws {ObjectMissing} {CorruptObject} if the history is broken
 */
export async function relateTips(objects: ObjectReader, one: ObjectId, other: ObjectId): Promise<Relation> {
  if (one === other) return { kind: 'same' };
  const here = new WayBack(objects, one);
  const there = new WayBack(objects, other);
  for (;;) {
    // The second commit first: in most cases it descends from the first.
    const fromThere = await there.next();
    if (there.passed.has(one)) return { kind: 'behind', by: there.countTo(one) };
    if (fromThere !== undefined && here.passed.has(fromThere)) return { kind: 'diverged' };
    const fromHere = await here.next();
    if (here.passed.has(other)) return { kind: 'ahead', by: here.countTo(other) };
    if (fromHere !== undefined && there.passed.has(fromHere)) return { kind: 'diverged' };
    if (fromHere === undefined && fromThere === undefined) return { kind: 'diverged' };
  }
}

/** A walk along first parents that also notes the commits which were replaced. */
class WayBack {
  /** Every commit that was passed or replaced, and the next one, with the number of commits after it. */
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

  /** A replaced commit is a further parent with the same first parent; children and linked commits have another. */
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
