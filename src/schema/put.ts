// The room schema: what nodes may look like. `built-in.ts` has the types of the storage format as JSON Schemas;
// `validate.ts` checks a node against its type, with code that the build generated where it can, else with ajv;
// `links.ts` finds what a node links to; this file stores a node of a user that no step has taken in yet.
// `typed-schema.ts` describes the keys of our own files once, for checks, types and defaults. Schemas of users come
// from fetched repositories too, so checking one has limits of time and size. What may go wrong is told by place: a
// value that its schema refuses, a schema that is none, a link that leads nowhere.

import { type NodeHash, prepareHashing } from '../cas/hash.ts';
import { pinOf, writeNodeTree } from '../cas/node-tree.ts';
import {
  combineSources,
  type EncodedNode,
  encodeNode,
  getNode,
  MemorySource,
  type Node,
  type NodeSource,
  type StoredNode,
} from '../cas/node.ts';
import { parseScratchRef, putScratch, typePath } from '../cas/scratch.ts';
import { UwfError } from '../errors.ts';
import { ObjectMissing, ObjectTooLarge } from '../git/format/errors.ts';
import { formatOfId, hashObject, type ObjectId, type ObjectType } from '../git/format/object-id.ts';
import { parseRefName } from '../git/format/refs.ts';
import { RefMoved, type RefName, type Repository } from '../git/repository.ts';
import { ObjectBatch, publish } from '../git/stores/publish.ts';
import type { JsonValue } from '../json.ts';
import { builtIn, encodeBuiltIn, isThreadType, typeNameOf } from './built-in.ts';
import { assertSchema } from './validate-against.ts';
import { assertLinks, linksOf, sourceOf, walk } from './links.ts';
import { assertValid } from './validate.ts';

/** Where a node is put, and what it may link to. */
export type PutOptions = {
  /** The scratch ref that keeps the node, such as `refs/uwf/scratch/mine`. */
  ref: string;
  /** Nodes that other refs keep for as long as the scratch ref is used: those of its thread. Default: none. */
  kept?: NodeSource;
  /** For an artifact: the blob that it pins, where the repository may not have it yet. */
  blob?: Uint8Array;
};

/**
 * Stores a node that no step has taken in yet at a scratch ref, together with the schema of its type and the nodes that it
 * links to elsewhere in the repository.
 *
 * A linked node that was put at the same ref gets a second entry, because the first may be dropped on its own. A linked node
 * of a thread (a start, a step …) is kept by the refs of that thread, not by the scratch ref.
 * @throws {NotJson} {SchemaViolation} if the payload is not of the type
 * @throws {NodeNotFound} if there is no such type
 * @throws {ObjectMissing} {WrongPin} if it is an artifact whose git object is not there, or is of another kind
 * @throws {DanglingLink} {WrongLinkType} if it links to what is not there, or not of the right type
 * @throws {InvalidRefName} if git would refuse the name of the ref
 * @throws {UwfError} `no-scratch-ref` if it is neither below `refs/uwf/scratch/` nor `refs/uwf/pins`
 */
export async function putNode(
  repository: Repository,
  type: NodeHash,
  payload: JsonValue,
  options: PutOptions,
): Promise<NodeHash> {
  const [hash] = await putNodes(repository, [{ type, payload }], options);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- One hash for each node.
  return hash as NodeHash;
}

/**
 * Stores many nodes as {@link putNode} does, in one write: they are all stored, or none. They may link to each other, in
 * any order.
 * @returns their hashes, in the order of the nodes
 * @throws what {@link putNode} does, for the first node with which something is wrong
 */
export async function putNodes(
  repository: Repository,
  nodes: readonly Node[],
  options: PutOptions,
): Promise<NodeHash[]> {
  await prepareHashing();
  const ref = parseScratchRef(options.ref);
  const given = nodes.map(({ type, payload }) => encodeNode(type, payload));
  const kept = options.kept ?? new MemorySource();
  const source = combineSources(kept, sourceOf(repository));
  const together = new MemorySource(given);
  const withGiven = combineSources(together, source);
  const linking: NodeHash[] = [];
  for (const node of given) {
    await assertValid(node.type, node.payload, withGiven);
    await assertPinned(repository, node, options.blob);
    const links = await linksOf(withGiven, node);
    if (links.length === 0) continue;
    await assertLinks(withGiven, links);
    linking.push(node.hash);
  }
  const linked = await findLinked(withGiven, kept, together, linking);
  const types = await typeClosure(withGiven, new Set([...given, ...linked].map(({ type }) => type)));
  const blobs = options.blob ? [options.blob] : [];
  await putScratch(repository, ref, { nodes: given, linked, types, blobs });
  return given.map(({ hash }) => hash);
}

/** Finds the nodes that some nodes link to, directly or through others, and that nothing keeps yet. */
async function findLinked(
  source: NodeSource,
  kept: NodeSource,
  given: NodeSource,
  roots: readonly NodeHash[],
): Promise<EncodedNode[]> {
  const isKept = async ({ hash, type }: StoredNode): Promise<boolean> =>
    isThreadType(type) || (await kept.find(hash)) !== undefined;
  const linked: EncodedNode[] = [];
  for await (const found of walk(source, roots, { isBoundary: isKept })) {
    if ((await given.find(found.hash)) !== undefined || (await isKept(found))) continue;
    linked.push(encodeNode(found.type, found.payload));
  }
  return linked;
}

/**
 * The schema nodes that a reader of nodes of some types needs: the schemas of the types, and their own types up to the
 * meta-schema, each once.
 */
async function typeClosure(source: NodeSource, types: Iterable<NodeHash>): Promise<EncodedNode[]> {
  const found = new Map<NodeHash, EncodedNode>();
  const pending = [...types];
  for (let type = pending.pop(); type !== undefined; type = pending.pop()) {
    if (found.has(type)) continue;
    const schema = await encodeType(source, type);
    found.set(type, schema);
    pending.push(schema.type);
  }
  return [...found.values()];
}

async function encodeType(source: NodeSource, type: NodeHash): Promise<EncodedNode> {
  const name = typeNameOf(type);
  if (name !== undefined) return encodeBuiltIn(name);
  const node = await getNode(source, type);
  return encodeNode(node.type, node.payload);
}

/** The folder of the refs that keep registered schemas; each ref is named by the schema's hash. */
export const SCHEMA_REFS = 'refs/uwf/schemas/';

export function schemaRef(hash: NodeHash): RefName {
  return parseRefName(SCHEMA_REFS + hash);
}

/**
 * Registers a JSON Schema (draft 2020-12) as a type for nodes, and keeps it until its ref is deleted.
 *
 * The same schema again gives the same hash and changes nothing; a built-in one needs no registering.
 * @throws {NotJson} {InvalidSchema} if the value is no schema
 */
export async function putSchema(repository: Repository, schema: JsonValue): Promise<NodeHash> {
  await prepareHashing();
  const node = encodeNode(builtIn['meta-schema'], schema);
  await assertSchema(node.payload);
  if (typeNameOf(node.hash) !== undefined) return node.hash;
  const name = schemaRef(node.hash);
  if ((await repository.refs.read(name)) !== undefined) return node.hash;
  const batch = new ObjectBatch(repository.objects.format);
  const files = [node, encodeBuiltIn('meta-schema')].map((file) => ({ path: typePath(file.hash), node: file }));
  const who = { ...repository.committer, atMs: repository.now() };
  const commit = batch.addCommit({
    tree: writeNodeTree(batch, files),
    parents: [],
    author: who,
    committer: who,
    message: `schema: ${node.hash}\n`,
  });
  try {
    await publish(repository, batch, [{ name, expected: null, value: commit }]);
  } catch (error) {
    // Another process registered the same schema at the same moment: a hash names one schema.
    if (!(error instanceof RefMoved)) throw error;
  }
  return node.hash;
}

/** An artifact gives a git object another type than it has. */
export class WrongPin extends UwfError {
  constructor(oid: ObjectId, said: string, actual: string) {
    super(`${oid} is a ${actual}, not a ${said}`, { code: 'wrong-pin', kind: 'data', facts: { oid } });
  }
}

/** Larger objects are taken for blobs: no commit or tree is this large. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Checks that what an artifact pins is in the repository, and is what the artifact says. Other nodes pass.
 * @param blob what is about to be written along with it
 */
export async function assertPinned(
  { objects }: Pick<Repository, 'objects'>,
  node: Node,
  blob?: Uint8Array,
): Promise<void> {
  const pin = pinOf(node);
  if (pin === undefined) return;
  let actual: ObjectType | undefined;
  if (blob !== undefined && hashObject({ type: 'blob', data: blob }, formatOfId(pin.oid)) === pin.oid) actual = 'blob';
  else {
    try {
      actual = (await objects.read(pin.oid, { maxBytes: MAX_BYTES }))?.type;
    } catch (error) {
      if (!(error instanceof ObjectTooLarge)) throw error;
      actual = 'blob';
    }
  }
  if (actual === undefined) throw new ObjectMissing(pin.oid);
  if (actual !== pin.kind) throw new WrongPin(pin.oid, pin.kind, actual);
}
