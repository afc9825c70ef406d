import { setTimeout as sleep } from 'node:timers/promises';
import { UwfError } from '../errors.ts';
import { ObjectBatch, publish } from '../git/stores/publish.ts';
import type { ObjectId } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import { readAnyTree, readCommit } from '../git/stores/read.ts';
import { RefMoved, type RefName, type Repository } from '../git/repository.ts';
import { isJsonObject } from '../json.ts';
import { type IndexEntry, readCommitIndex, readNodeAt } from './commit-nodes.ts';
import { CONTENT_TYPE } from './node-hash.ts';
import type { NodeHash } from './hash.ts';
import type { EncodedNode, Node } from './node.ts';
import {
  keepersOf,
  type NodeFile,
  type PinKeepers,
  PINNED_FOLDER,
  pinnedAt,
  type TreeFile,
  writeNodeTree,
} from './node-tree.ts';

const artifacts = 'artifacts/';
const MAX_ATTEMPTS = 100;

/**
 * The path under which a node that was put lies, in a scratch tree as in the tree of the step that takes it in:
 * `artifacts/<hash>.md` for plain text, `artifacts/<hash>.json` for the rest.
 */
export function artifactPath(node: Node & { hash: NodeHash }): string {
  const isText = node.type === CONTENT_TYPE && isJsonObject(node.payload) && !('refs' in node.payload);
  return `${artifacts}${node.hash}.${isText ? 'md' : 'json'}`;
}

/**
 * Checks the name of a ref that nodes are put at. A put replaces the commit that the ref points at, so a branch or a thread
 * would lose its history.
 * @throws {InvalidRefName} if git would refuse it
 * @throws {UwfError} `no-scratch-ref` if it is another ref
 */
export function parseScratchRef(text: string): RefName {
  const ref = parseRefName(text);
  if (ref.startsWith('refs/uwf/scratch/') || ref === 'refs/uwf/pins') return ref;
  throw new UwfError(`'${text}' is no scratch ref: what it points at would be replaced`, {
    code: 'no-scratch-ref',
    kind: 'usage',
    hint: 'name a ref below refs/uwf/scratch/',
    facts: { ref },
  });
}

/** The path under which a tree keeps the schema of a type that its nodes have. */
export function typePath(type: NodeHash): string {
  return `types/${type}.json`;
}

/** Tells whether an entry of a scratch tree was added only because a node that was put needs it. */
function isBeside(path: string): boolean {
  return path.startsWith('types/') || path.startsWith('linked/');
}

/** Tells whether an entry of a scratch tree is a node that was put. Such nodes need the other entries. */
export function isArtifact(entry: Pick<IndexEntry, 'path'>): boolean {
  return entry.path.startsWith(artifacts);
}

/** What is added to a scratch ref. */
export type ScratchNodes = {
  nodes: readonly EncodedNode[];
  /** Nodes that these link to, and that may not be kept by anything else. */
  linked?: readonly EncodedNode[];
  /** The schemas of the types of all these, with the meta-schema. A clone of the ref alone can read the nodes. */
  types: readonly EncodedNode[];
  /** Blobs that artifacts among `nodes` pin, where the repository may not have them yet. */
  blobs?: readonly Uint8Array[];
};

/**
 * Adds nodes to those at a scratch ref, which no step has taken in yet.
 *
 * The ref points at a single commit, which is replaced as a whole; its only parents are pinned commits. Concurrent writers
 * do not lose each other's nodes. Nodes that the ref holds already are not written again.
 * @throws {RefMoved} if the ref changes under every one of many attempts
 */
export async function putScratch(repository: Repository, ref: RefName, added: ScratchNodes): Promise<void> {
  const { nodes, linked = [], types, blobs = [] } = added;
  const wanted = new Map<string, EncodedNode>();
  for (const node of linked) wanted.set(`linked/${node.hash}.json`, node);
  for (const node of nodes) wanted.set(artifactPath(node), node);
  for (const node of types) wanted.set(typePath(node.hash), node);
  await edit(
    repository,
    ref,
    (present) => {
      const known = new Set(present.map(({ path }) => path));
      const missing = [...wanted].filter(([path]) => !known.has(path)).map(([path, node]) => ({ path, node }));
      return missing.length === 0 ? undefined : [...present, ...missing];
    },
    blobs,
  );
}

/** Makes a file the only one in its folder of a scratch ref's tree. */
export async function replaceInScratch(
  repository: Repository,
  ref: RefName,
  folder: string,
  file: NodeFile,
): Promise<void> {
  await edit(repository, ref, (present) => [...present.filter(({ path }) => !path.startsWith(folder)), file]);
}

/** Lists the nodes put at a ref, linked nodes and schemas included ({@link isArtifact} tells them apart); empty if the ref does not exist. */
export async function listScratch(repository: Repository, ref: RefName): Promise<readonly IndexEntry[]> {
  const tip = await repository.refs.read(ref);
  return tip === undefined ? [] : readCommitIndex(repository, tip);
}

/**
 * Removes nodes from a scratch ref. If no artifact is left, the ref is deleted with the linked nodes and schemas.
 * @returns the hashes that were there
 */
export async function removeFromScratch(
  repository: Repository,
  ref: RefName,
  hashes: Iterable<NodeHash>,
): Promise<NodeHash[]> {
  const asked = new Set(hashes);
  let removed: NodeHash[] = [];
  await edit(repository, ref, (present) => {
    const isUnwanted = (entry: IndexEntry): boolean => isArtifact(entry) && asked.has(entry.hash);
    removed = present.filter(isUnwanted).map(({ hash }) => hash);
    if (removed.length === 0) return undefined;
    const rest = present.filter((entry) => !isUnwanted(entry));
    return rest.some(({ path }) => !isBeside(path)) ? rest : [];
  });
  return removed;
}

/** Replaces the nodes at a ref by those that `change` returns: `undefined` leaves the ref alone, an empty list deletes it. */
async function edit(
  repository: Repository,
  ref: RefName,
  change: (present: readonly IndexEntry[]) => readonly TreeFile[] | undefined,
  blobs: readonly Uint8Array[] = [],
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const expected = (await repository.refs.read(ref)) ?? null;
    const present = expected === null ? [] : await readCommitIndex(repository, expected);
    const files = change(present);
    if (files === undefined) return;
    const batch = new ObjectBatch(repository.objects.format);
    for (const blob of blobs) batch.addBlob(blob);
    const value = files.length === 0 ? null : await addCommit(repository, batch, files, { tip: expected, present });
    try {
      await publish(repository, batch, [{ name: ref, expected, value }]);
      return;
    } catch (error) {
      if (!(error instanceof RefMoved) || attempt === MAX_ATTEMPTS) throw error;
      // The random wait keeps writers that lost the same race from colliding again.
      await sleep(Math.random() * Math.min(attempt, 20));
    }
  }
}

async function addCommit(
  repository: Repository,
  batch: ObjectBatch,
  files: readonly TreeFile[],
  before: { tip: ObjectId | null; present: readonly IndexEntry[] },
): Promise<ObjectId> {
  // Blobs of the replaced commit are not written again: the ref keeps them until it moves to the new commit, which has them.
  const read = async (file: TreeFile): Promise<Node> => ('node' in file ? file.node : readNodeAt(repository, file));
  const kept = await keptBy(repository, before.tip);
  const added = files.filter((file) => 'node' in file);
  const isGrown = files.length === before.present.length + added.length;
  // Existing nodes are read only if nodes were removed and there are pins: some of the pins may have to go.
  const isKnown = isGrown || (kept.parents.length === 0 && kept.entries.length === 0);
  const mayPin = (isKnown ? added : files).filter(({ path }) => path.endsWith('.json') && !path.startsWith('types/'));
  const pins = keepersOf(await Promise.all(mayPin.map(read)), isGrown ? kept : undefined);
  const tree = writeNodeTree(batch, files, pins.entries);
  const who = { ...repository.committer, atMs: repository.now() };
  const message = `scratch: ${files.length} ${files.length === 1 ? 'node' : 'nodes'}\n`;
  return batch.addCommit({ tree, parents: pins.parents, author: who, committer: who, message });
}

/** How a scratch commit keeps what its nodes pin. */
async function keptBy({ objects }: Repository, tip: ObjectId | null): Promise<PinKeepers> {
  if (tip === null) return { parents: [], entries: [] };
  const { tree, parents } = await readCommit(objects, tip);
  const folder = (await readAnyTree(objects, tree)).find(({ name }) => name === PINNED_FOLDER);
  const pinned = folder === undefined ? [] : await readAnyTree(objects, folder.id);
  const entries = pinned.map(({ mode, id }) => pinnedAt(id, mode === '40000' ? 'tree' : 'blob'));
  return { parents: [...parents], entries };
}
