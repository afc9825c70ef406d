import type { Commit, TreeLine } from '../git/format/objects.ts';
import { ObjectTooLarge } from '../git/format/object-errors.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { readAnyTree, readBlob, readCommit } from '../git/stores/read.ts';
import type { ObjectReader } from '../git/stores/read.ts';
import { prepareHashing } from './hash.ts';
import { INDEX_NAME, InvalidIndex, parseIndex } from './index-blob.ts';
import type { IndexEntry } from './index-blob.ts';
import { decodeNode } from './node.ts';
import type { StoredNode } from './node-source.ts';

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
/** The lines of indexes that a long-lived process (a worker, the page) keeps: 1 to 2 MB. */
const MAX_CACHED_LINES = 5000;

/** Commits never change, so a cached one is never stale. */
type Cache = { commits: Map<ObjectId, CommitNodes>; lines: number };

/** One for each open repository. */
const caches = new WeakMap<ObjectReader, Cache>();

/**
 * Reads the parents of a commit and the index of its tree, together with the indexes of its `workflow/` and `children/*`.
 *
 * A commit whose tree has no `index`, an empty one, or something else under that name is not of uwf: it may be a
 * commit of the user's code that a step pins.
 * @param known the commit, where it has been read already
 * @throws {ObjectMissing} {CorruptObject} if the commit or its tree cannot be read
 */
export async function readCommitNodes(
  repository: NodeReader,
  commitId: ObjectId,
  known?: Commit,
): Promise<CommitNodes> {
  const cache: Cache = caches.get(repository.objects) ?? { commits: new Map(), lines: 0 };
  caches.set(repository.objects, cache);
  const cached = cache.commits.get(commitId);
  if (cached !== undefined) return cached;
  const nodes = await readCommitNodesOnce(repository, commitId, known);
  if (cache.lines >= MAX_CACHED_LINES) {
    cache.commits.clear();
    cache.lines = 0;
  }
  cache.commits.set(commitId, nodes);
  // A commit that is not of uwf takes room, too.
  cache.lines += nodes.entries?.length ?? 1;
  return nodes;
}

/** Reads the same without caching it, for callers that read many commits once each. */
export async function readCommitNodesOnce(
  { objects }: NodeReader,
  commitId: ObjectId,
  known?: Commit,
): Promise<CommitNodes> {
  const commit = known ?? (await readCommit(objects, commitId));
  const entries = await readIndexes(objects, await readAnyTree(objects, commit.tree));
  return { parents: commit.parents, committedAtMs: commit.committer.atMs, entries };
}

/**
 * Lists the nodes of a commit's tree.
 *
 * @param known the commit, where it has been read already
 * @throws {InvalidIndex} if uwf did not write the commit
 */
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
 *
 * @throws {HashMismatch} {NotCanonical} if the blob is not the node of that hash
 * @throws {ObjectMissing} if the blob is not in the repository
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
  for (const { path, id } of folders) entries.push(...(await readFolder(objects, path, id)));
  return entries;
}

/** Tells whether a tree has an index of nodes at its root. Readers take a commit of such a tree for one of uwf. */
export async function isTreeOfNodes(objects: ObjectReader, tree: ObjectId): Promise<boolean> {
  return (await readIndex(objects, await readAnyTree(objects, tree), '')) !== undefined;
}

type Folder = { path: string; id: ObjectId; entries: readonly IndexEntry[] };

/** The index that was read last. Consecutive threads mostly have the same workflow, so this one is mostly asked for again. */
const latest = new WeakMap<ObjectReader, Folder>();

async function readFolder(objects: ObjectReader, path: string, id: ObjectId): Promise<readonly IndexEntry[]> {
  const known = latest.get(objects);
  if (known?.path === path && known.id === id) return known.entries;
  const entries = (await readIndex(objects, await readAnyTree(objects, id), path)) ?? [];
  latest.set(objects, { path, id, entries });
  return entries;
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
