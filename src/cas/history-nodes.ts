import { ObjectMissing } from '../git/format/object-errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { readCommitNodes, readNodeAt } from './commit-nodes.ts';
import type { CommitNodes, NodeReader } from './commit-nodes.ts';
import type { NodeHash } from './hash.ts';
import { HashCollision } from './node-source.ts';
import type { NodeSource, StoredNode } from './node-source.ts';

/**
 * The nodes of all commits that some tips reach, through all their parents. A thread may link to these.
 *
 * Commits are read newest first and only as far as a search needs; nodes read on the way are remembered. Commits
 * that uwf did not write (code that a step pins) are skipped together with their ancestors, and so is a parent that
 * is not in the repository (a shallow clone).
 */
export function nodesBehind(repository: NodeReader, tips: readonly ObjectId[]): NodeSource {
  return new HistoryNodes(repository, tips);
}

type Waiting = { id: ObjectId; nodes: CommitNodes };

class HistoryNodes implements NodeSource {
  readonly #repository: NodeReader;
  readonly #oids = new Map<NodeHash, ObjectId>();
  readonly #collisions = new Map<NodeHash, HashCollision>();
  readonly #met = new Set<ObjectId>();
  /** Commits whose nodes have not been read yet, the newest last. */
  readonly #waiting: Waiting[] = [];
  #tips: readonly ObjectId[];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(repository: NodeReader, tips: readonly ObjectId[]) {
    this.#repository = repository;
    this.#tips = tips;
  }

  find(hash: NodeHash): Promise<StoredNode | undefined> {
    // Searches run one after another: each would skip the commits that a concurrent one is still reading.
    const search = this.#turn.then(() => this.#locate(hash));
    this.#turn = search.catch(() => undefined);
    return search.then((oid) => (oid === undefined ? undefined : readNodeAt(this.#repository, { hash, oid })));
  }

  async #locate(hash: NodeHash): Promise<ObjectId | undefined> {
    for (;;) {
      const collision = this.#collisions.get(hash);
      if (collision !== undefined) throw collision;
      const oid = this.#oids.get(hash);
      if (oid !== undefined) return oid;
      if (!(await this.#takeNext())) return undefined;
    }
  }

  /** Reads the nodes of the newest waiting commit; false when no commit is left. */
  async #takeNext(): Promise<boolean> {
    while (this.#tips.length > 0) {
      const [tip, ...others] = this.#tips;
      if (tip !== undefined) await this.#meet(tip);
      this.#tips = others;
    }
    const next = this.#waiting.at(-1);
    if (next === undefined) return false;
    for (const parent of next.nodes.parents) {
      await this.#meet(parent).catch((error: unknown) => {
        if (!(error instanceof ObjectMissing) || error.id !== parent) throw error;
      });
    }
    // Removed only after its parents were read: if one is unreadable, the next search must fail as well. It is looked up
    // again because a parent with a later date may have been placed behind it.
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    for (const entry of next.nodes.entries ?? []) this.#remember(entry.hash, entry.oid);
    return true;
  }

  async #meet(id: ObjectId): Promise<void> {
    if (this.#met.has(id)) return;
    const nodes = await readCommitNodes(this.#repository, id);
    this.#met.add(id);
    if (nodes.entries === undefined) return;
    const isOlder = ({ nodes: other }: Waiting): boolean => other.committedAtMs < nodes.committedAtMs;
    this.#waiting.splice(this.#waiting.findLastIndex(isOlder) + 1, 0, { id, nodes });
  }

  #remember(hash: NodeHash, oid: ObjectId): void {
    const known = this.#oids.get(hash);
    if (known === undefined) this.#oids.set(hash, oid);
    else if (known !== oid) this.#collisions.set(hash, new HashCollision(hash, [known, oid]));
  }
}
