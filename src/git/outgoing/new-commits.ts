import type { Commit } from '../commit.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../object-id.ts';
import { readCommit } from '../read.ts';
import type { ObjectReader } from '../read.ts';

/** A commit on a walk. */
export type WalkedCommit = Pick<Commit, 'tree' | 'parents'> & { id: ObjectId; atMs: number };

/** What is there already, for {@link findNewCommits}. */
export type OldCommits = {
  /** Tells of the commits that are known to be there; what they follow is there too. */
  has(id: ObjectId): boolean;
  /** Gives all of them that can be read here, once the walk has become long. Asked at most once. */
  all(): Promise<readonly ObjectId[]>;
};

/** So many new commits are taken at face value: most pushes are one step. */
const shortWalk = 64;

/**
 * Finds the commits that tips lead to and old commits do not, the newest first.
 *
 * The work is proportional to what is new, as long as the new comes right after something old; else the old ones are
 * walked too, back to the time of the new. Wrong dates can make it give more than is new, never less.
 * @throws {ObjectMissing} / {CorruptObject} if a new commit cannot be read
 * Source: the idea is that of `limit_list` in git's revision.c.
 */
export async function findNewCommits(
  objects: ObjectReader,
  tips: readonly ObjectId[],
  old: OldCommits,
): Promise<WalkedCommit[]> {
  const walk = new Walk(objects);
  for (const tip of tips) await walk.add(tip, old.has(tip));
  const found: WalkedCommit[] = [];
  let isPainted = false;
  while (walk.hasNew) {
    const next = walk.pop();
    if (next === undefined) break;
    if (!walk.isOld(next.id)) found.push(next);
    for (const parent of next.parents) await walk.add(parent, walk.isOld(next.id) || old.has(parent));
    if (found.length === shortWalk && !isPainted) {
      isPainted = true;
      for (const id of await old.all()) await walk.add(id, true);
    }
  }
  return found.filter(({ id }) => !walk.isOld(id));
}

/** Commits to look at, the newest first, and which of those that were met are old. */
class Walk {
  readonly #objects: ObjectReader;
  /** What was met: `true` if it is old. */
  readonly #met = new Map<ObjectId, boolean>();
  /** Sorted by time, the newest last. */
  readonly #queue: WalkedCommit[] = [];
  /** How many of the queue are new. */
  #newCount = 0;

  constructor(objects: ObjectReader) {
    this.#objects = objects;
  }

  get hasNew(): boolean {
    return this.#newCount > 0;
  }

  isOld(id: ObjectId): boolean {
    return this.#met.get(id) === true;
  }

  async add(id: ObjectId, isOld: boolean): Promise<void> {
    const known = this.#met.get(id);
    if (known === true || (known === false && !isOld)) return;
    this.#met.set(id, isOld);
    if (known === false) {
      const waiting = this.#queue.some((commit) => commit.id === id);
      if (waiting) {
        this.#newCount -= 1;
        return;
      }
    }
    const commit = await this.#read(id, isOld);
    if (commit === undefined) return;
    this.#insert(commit);
    if (!isOld) this.#newCount += 1;
  }

  pop(): WalkedCommit | undefined {
    const commit = this.#queue.pop();
    if (commit !== undefined && !this.isOld(commit.id)) this.#newCount -= 1;
    return commit;
  }

  #insert(commit: WalkedCommit): void {
    let low = 0;
    let high = this.#queue.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#queue[middle]?.atMs ?? 0) <= commit.atMs) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, commit);
  }

  /** `undefined` for an old one that cannot be read, or is a tag: it only saves work. */
  async #read(id: ObjectId, isOld: boolean): Promise<WalkedCommit | undefined> {
    try {
      const { tree, parents, committer } = await readCommit(this.#objects, id);
      return { id, tree, parents, atMs: committer.atMs };
    } catch (error) {
      if (isOld && error instanceof UwfError) return undefined;
      throw error;
    }
  }
}
