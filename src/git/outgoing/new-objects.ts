import { CorruptObject, ObjectMissing } from '../object-errors.ts';
import { formatOfId, objectIdBytes, type ObjectId } from '../object-id.ts';
import { readCommit } from '../read.ts';
import type { ObjectReader } from '../read.ts';
import { kindOfMode, readTreeLines, type TreeLine } from '../tree-lines.ts';
import type { WalkedCommit } from './new-commits.ts';

const rememberedTrees = 256;

/**
 * An object that is new, and one that lies under the same path in what the commit follows: likely much the same, and
 * surely had by whoever has that. No chain of these leads back to where it starts.
 */
export type NewObject = { id: ObjectId; similar: ObjectId | undefined };

/**
 * Finds the objects of commits that what they follow has not under the same path: the commits themselves, trees, blobs.
 * Each once, commits first.
 *
 * Blobs are named only, not read. The work is proportional to the differences between the commits and their parents.
 * @param commits the newest first; what they follow and is not among them is there already
 * @throws {ObjectMissing} / {CorruptObject} if a tree cannot be read
 */
export async function findNewObjects(objects: ObjectReader, commits: readonly WalkedCommit[]): Promise<NewObject[]> {
  const search = new Search(objects);
  const trees = new Map(commits.map(({ id, tree }) => [id, tree]));
  for (const commit of commits.toReversed()) {
    const before: ObjectId[] = [];
    for (const parent of commit.parents) {
      const tree = trees.get(parent) ?? (await treeOf(objects, parent));
      if (tree !== undefined) before.push(tree);
    }
    await search.addTree(commit.tree, before);
  }
  const found = [...search.found].map(([id, similar]) => ({ id, similar }));
  return [...commits.map(({ id }) => ({ id, similar: undefined })), ...found];
}

/** The tree of a commit that is there already; `undefined` if it is not here, so that nothing is taken for granted. */
async function treeOf(objects: ObjectReader, id: ObjectId): Promise<ObjectId | undefined> {
  try {
    return (await readCommit(objects, id)).tree;
  } catch (error) {
    if (error instanceof ObjectMissing || error instanceof CorruptObject) return undefined;
    throw error;
  }
}

class Search {
  readonly found = new Map<ObjectId, ObjectId | undefined>();
  readonly #similar = new Set<ObjectId>();
  readonly #objects: ObjectReader;
  readonly #remembered = new Map<ObjectId, readonly TreeLine[]>();

  constructor(objects: ObjectReader) {
    this.#objects = objects;
  }

  /** @param others trees that are at the same place elsewhere; what they have is passed over */
  async addTree(root: ObjectId, others: readonly ObjectId[]): Promise<void> {
    // A stack of its own: how deep folders lie in each other is up to whoever made them.
    const waiting = [{ id: root, others }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { id, others } = next;
      if (this.found.has(id) || others.includes(id)) continue;
      this.#add(id, others[0]);
      const elsewhere = new Map<string, ObjectId[]>();
      for (const other of others) {
        for (const { name, id } of await this.#linksOfOther(other))
          elsewhere.set(name, [...(elsewhere.get(name) ?? []), id]);
      }
      for (const link of await this.#links(id)) {
        const same = elsewhere.get(link.name) ?? [];
        const kind = kindOfMode(link.mode);
        // No tree keeps the commit of a submodule.
        if (same.includes(link.id) || kind === 'submodule') continue;
        if (kind === 'folder') waiting.push({ id: link.id, others: same });
        else if (!this.found.has(link.id)) this.#add(link.id, same[0]);
      }
    }
  }

  /** What another one is like is like nothing itself, if it comes later: else the two could be alike in a circle. */
  #add(id: ObjectId, similar: ObjectId | undefined): void {
    const chosen = this.#similar.has(id) ? undefined : similar;
    this.found.set(id, chosen);
    if (chosen !== undefined) this.#similar.add(chosen);
  }

  /** What lies under this name elsewhere need not be a folder, nor be here. */
  async #linksOfOther(id: ObjectId): Promise<readonly TreeLine[]> {
    try {
      return await this.#links(id);
    } catch (error) {
      if (error instanceof ObjectMissing || error instanceof CorruptObject) return [];
      throw error;
    }
  }

  async #links(id: ObjectId): Promise<readonly TreeLine[]> {
    const known = this.#remembered.get(id);
    if (known !== undefined) return known;
    const object = await this.#objects.read(id);
    if (object === undefined) throw new ObjectMissing(id);
    if (object.type !== 'tree') throw new CorruptObject(id, `it is a ${object.type}, not a tree`);
    const links = readTreeLines(object.data, objectIdBytes(formatOfId(id)));
    if (links === undefined) throw new CorruptObject(id, 'the tree is cut off');
    const [oldest] = this.#remembered.keys();
    if (oldest !== undefined && this.#remembered.size >= rememberedTrees) this.#remembered.delete(oldest);
    this.#remembered.set(id, links);
    return links;
  }
}
