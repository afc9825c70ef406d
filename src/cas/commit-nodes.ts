import { UwfError } from '../errors.ts';
import { ObjectMissing, ObjectTooLarge } from '../git/format/errors.ts';
import { isObjectId, type ObjectId } from '../git/format/object-id.ts';
import type { Commit, TreeLine } from '../git/format/objects.ts';
import { type ObjectReader, readAnyTree, readBlob, readCommit } from '../git/stores/read.ts';
import { isNodeHash, type NodeHash, prepareHashing } from './hash.ts';
import { decodeNode, HashCollision, type NodeSource, type StoredNode } from './node.ts';

/** What the readers of nodes need of a repository. */
export type NodeReader = { readonly objects: ObjectReader };

/** The part of a commit of uwf that can be read without its nodes. */
export type CommitNodes = {
  parents: readonly ObjectId[];
  /** The committer's time in ms since 1970. */
  committedAtMs: number;
  /** The nodes of its tree, paths from the root; `undefined` if uwf did not write the commit. */
  entries: readonly IndexEntry[] | undefined;
};

/** Folders of a root tree whose nodes are listed in an index of their own: `workflow/` and each of `children/*`. */
const ownIndex = 'workflow';
const ownIndexes = 'children';

/** The mode of a folder as it stands in a tree. */
const FOLDER = '40000';

const MAX_INDEX_BYTES = 16 * 1024 * 1024;

/**
 * Reads the parents of a commit and the index of its tree, together with the indexes of its `workflow/` and `children/*`.
 *
 * A commit whose tree has no `index`, an empty one, or something else under that name is not of uwf: it may be a
 * commit of the user's code that a step pins.
 * @throws {ObjectMissing} {CorruptObject} if the commit or its tree cannot be read
 */
export async function readCommitNodes(
  { objects }: NodeReader,
  commitId: ObjectId,
  known?: Commit,
): Promise<CommitNodes> {
  const commit = known ?? (await readCommit(objects, commitId));
  const entries = await readIndexes(objects, await readAnyTree(objects, commit.tree));
  return { parents: commit.parents, committedAtMs: commit.committer.atMs, entries };
}

/** Lists the nodes of a commit's tree. @throws {InvalidIndex} if uwf did not write the commit */
export async function readCommitIndex(
  repository: NodeReader,
  commitId: ObjectId,
  known?: Commit,
): Promise<readonly IndexEntry[]> {
  const { entries } = await readCommitNodes(repository, commitId, known);
  if (entries === undefined) throw new InvalidIndex(0, `commit ${commitId} has none`);
  return entries;
}

/**
 * Reads the node that an index lists, and proves that it is that node.
 * @throws {HashMismatch} {NotCanonical} if the blob is not the node of that hash
 */
export async function readNodeAt(repository: NodeReader, entry: Pick<IndexEntry, 'hash' | 'oid'>): Promise<StoredNode> {
  await prepareHashing();
  const node = decodeNode(entry.hash, await readBlob(repository.objects, entry.oid));
  return { hash: entry.hash, oid: entry.oid, ...node };
}

async function readIndexes(objects: ObjectReader, root: readonly TreeLine[]): Promise<IndexEntry[] | undefined> {
  const entries = await readIndex(objects, root, '');
  if (entries === undefined) return undefined;
  const folders: { path: string; id: ObjectId }[] = [];
  for (const { name, mode, id } of root) {
    if (mode !== FOLDER) continue;
    if (name === ownIndex) folders.push({ path: `${name}/`, id });
    if (name === ownIndexes) {
      for (const child of await readAnyTree(objects, id)) {
        if (child.mode === FOLDER) folders.push({ path: `${name}/${child.name}/`, id: child.id });
      }
    }
  }
  for (const { path, id } of folders)
    entries.push(...((await readIndex(objects, await readAnyTree(objects, id), path)) ?? []));
  return entries;
}

/** Tells whether a tree has an index of nodes at its root. Readers take a commit of such a tree for one of uwf. */
export async function isTreeOfNodes(objects: ObjectReader, tree: ObjectId): Promise<boolean> {
  return (await readIndex(objects, await readAnyTree(objects, tree), '')) !== undefined;
}

async function readIndex(
  objects: ObjectReader,
  tree: readonly TreeLine[],
  prefix: string,
): Promise<IndexEntry[] | undefined> {
  const entry = tree.find(({ name }) => name === INDEX_NAME);
  if (entry === undefined || entry.mode !== '100644') return undefined;
  try {
    const blob = await readBlob(objects, entry.id, { maxBytes: MAX_INDEX_BYTES });
    const entries = parseIndex(Buffer.from(blob).toString('utf8'));
    // Every tree of uwf has a node, but a user's code may have an empty file of this name.
    if (entries.length === 0) return undefined;
    return entries.map((line) => ({ ...line, path: prefix + line.path }));
  } catch (error) {
    if (error instanceof InvalidIndex || error instanceof ObjectTooLarge) return undefined;
    throw error;
  }
}

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

/** Where a tree holds a node: the blob `oid` at `path`, relative to the tree that carries the index. */
export type IndexEntry = { hash: NodeHash; oid: ObjectId; path: string };

export const INDEX_NAME = 'index';

/** A tree's index is not as uwf writes it. */
export class InvalidIndex extends UwfError {
  constructor(line: number, reason: string) {
    super(`the index of a tree is damaged${line === 0 ? '' : ` in line ${line}`}: ${reason}`, {
      code: 'invalid-index',
      kind: 'data',
      hint: 'it was not written by uwf; fetch the thread again',
      facts: { line, reason },
    });
  }
}

/**
 * Writes an index: a line `<hash> <oid> <path>` per node, sorted by hash, then by the path's bytes.
 * @throws {InvalidIndex} if a path is empty, holds a line end or is listed twice
 */
export function formatIndex(entries: readonly IndexEntry[]): string {
  const sorted = entries.toSorted(compareEntries);
  const text = sorted.map((entry) => `${entry.hash} ${entry.oid} ${entry.path}\n`).join('');
  parseIndex(text);
  return text;
}

/** Refuses every text that {@link formatIndex} would not have written. @throws {InvalidIndex} naming the line */
export function parseIndex(text: string): IndexEntry[] {
  if (text === '') return [];
  if (!text.endsWith('\n')) throw new InvalidIndex(0, 'its last line is cut off');
  const entries: IndexEntry[] = [];
  const paths = new Set<string>();
  for (const [at, line] of text.slice(0, -1).split('\n').entries()) {
    const entry = parseLine(line, at + 1);
    const previous = entries.at(-1);
    if (previous !== undefined && compareEntries(previous, entry) >= 0) throw new InvalidIndex(at + 1, 'out of order');
    if (paths.has(entry.path)) throw new InvalidIndex(at + 1, `'${entry.path}' is listed twice`);
    paths.add(entry.path);
    entries.push(entry);
  }
  return entries;
}

function parseLine(line: string, number: number): IndexEntry {
  const hash = line.slice(0, 13);
  const oidEnd = line.indexOf(' ', 14);
  const oid = line.slice(14, oidEnd);
  const path = line.slice(oidEnd + 1);
  if (!isNodeHash(hash) || line[13] !== ' ') throw new InvalidIndex(number, 'it does not start with a node hash');
  if (oidEnd === -1 || !isObjectId(oid)) throw new InvalidIndex(number, 'its second word is not an object id');
  if (path === '') throw new InvalidIndex(number, 'it names no path');
  return { hash, oid, path };
}

function compareEntries(a: IndexEntry, b: IndexEntry): number {
  if (a.hash !== b.hash) return a.hash < b.hash ? -1 : 1;
  return Buffer.compare(Buffer.from(a.path), Buffer.from(b.path));
}
