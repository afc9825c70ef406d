import { UwfError } from '../errors.ts';
import { isObjectId, type ObjectId } from '../git/format/object-id.ts';
import type { TreeEntry } from '../git/format/objects.ts';
import type { ObjectBatch } from '../git/stores/publish.ts';
import { isJsonObject } from '../json.ts';
import { formatIndex, INDEX_NAME, type IndexEntry } from './commit-nodes.ts';
import { assertNodeFits } from './canonical.ts';
import { ARTIFACT_TYPE } from './node-hash.ts';
import type { EncodedNode, Node } from './node.ts';

export type NodeFile = { path: string; node: EncodedNode };

/** A file of a tree: a node to be written, or one whose blob the repository keeps already. */
export type TreeFile = NodeFile | IndexEntry;

/**
 * An existing folder, or an existing file that is not a node, which the tree takes over unchanged. A folder with nodes in
 * it has an index of its own.
 */
export type Subtree = { path: string; mode: '040000' | '100644'; id: ObjectId };

function pathTaken(path: string): UwfError {
  return new UwfError(`two things were to be stored at '${path}'`, {
    code: 'path-taken',
    kind: 'usage',
    facts: { path },
  });
}

type Folder = Map<string, Folder | TreeEntry>;

/**
 * Adds a tree of nodes to a batch: the files, the folders their paths ask for, and the `index` that lists them.
 *
 * Nodes in `subtrees` are not listed: those have an index of their own. Blobs of nodes given as index entries are not
 * added; the caller knows that the repository keeps them until the new tree does.
 * @returns the id of the tree
 * @throws {UwfError} `node-too-large` if a fetch would refuse one of the nodes
 * @throws {UwfError} `path-taken` if two files share a path, or one lies where another needs a folder
 * @throws {UnwritableObject} if git would not accept a path
 */
export function writeNodeTree(
  batch: ObjectBatch,
  files: readonly TreeFile[],
  subtrees: readonly Subtree[] = [],
): ObjectId {
  for (const file of files) if ('node' in file) assertNodeFits(file.node.blob);
  const entries = files.map((file) =>
    'node' in file ? { hash: file.node.hash, oid: batch.addBlob(file.node.blob), path: file.path } : file,
  );
  const root: Folder = new Map();
  for (const { path, oid } of entries) place(root, path, { mode: '100644', id: oid });
  for (const { path, mode, id } of subtrees) place(root, path, { mode, id });
  place(root, INDEX_NAME, { mode: '100644', id: batch.addBlob(formatIndex(entries)) });
  return addFolder(batch, root);
}

function place(root: Folder, path: string, what: Omit<TreeEntry, 'name'>): void {
  const components = path.split('/');
  const name = components.at(-1) ?? '';
  let folder = root;
  for (const component of components.slice(0, -1)) {
    const next = folder.get(component) ?? new Map<string, Folder | TreeEntry>();
    if (!(next instanceof Map)) throw pathTaken(path);
    folder.set(component, next);
    folder = next;
  }
  if (folder.has(name)) throw pathTaken(path);
  folder.set(name, { ...what, name });
}

function addFolder(batch: ObjectBatch, folder: Folder): ObjectId {
  const entries: TreeEntry[] = [];
  for (const [name, content] of folder) {
    entries.push(content instanceof Map ? { mode: '040000', name, id: addFolder(batch, content) } : content);
  }
  return batch.addTree(entries);
}

/** A git object that an artifact node names. A commit with that node has to keep the object reachable. */
type Pin = { kind: 'commit' | 'tree' | 'blob'; oid: ObjectId };

/** The folder of a commit's tree that keeps pinned trees and blobs, each under its object id. */
export const PINNED_FOLDER = 'pinned';

/** What a node pins; `undefined` for a node that is no artifact. */
export function pinOf({ type, payload }: Node): Pin | undefined {
  if (type !== ARTIFACT_TYPE || !isJsonObject(payload)) return undefined;
  const { kind, oid } = payload;
  const isPin = (kind === 'commit' || kind === 'tree' || kind === 'blob') && typeof oid === 'string';
  return isPin && isObjectId(oid) ? { kind, oid } : undefined;
}

/** How a commit keeps pinned objects: commits as further parents, trees and blobs as entries of its tree. */
export type PinKeepers = { parents: ObjectId[]; entries: Subtree[] };

/** How a tree keeps a pinned tree or blob. */
export function pinnedAt(id: ObjectId, kind: 'tree' | 'blob'): Subtree {
  return { path: `${PINNED_FOLDER}/${id}`, mode: kind === 'tree' ? '040000' : '100644', id };
}

/**
 * Returns the parents and the tree entries that keep the objects pinned by some nodes, each object once.
 * @param kept for objects that other nodes of the same commit pin
 */
export function keepersOf(nodes: Iterable<Node>, kept: PinKeepers = { parents: [], entries: [] }): PinKeepers {
  const parents = new Set(kept.parents);
  const entries = new Map(kept.entries.map((entry) => [entry.id, entry]));
  for (const node of nodes) {
    const pin = pinOf(node);
    if (pin?.kind === 'commit') parents.add(pin.oid);
    else if (pin) entries.set(pin.oid, pinnedAt(pin.oid, pin.kind));
  }
  return { parents: [...parents], entries: [...entries.values()] };
}
